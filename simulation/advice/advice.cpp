// SPDX-License-Identifier: Apache-2.0
#include "simulation/advice/advice.hpp"

#include <algorithm>

namespace readmost::simulation {

const std::vector<alternative>& all_alternatives() {
  static const std::vector<alternative> all{
      {"glibc's lock", "glibc-like", "mix", 1, "nothing: glibc's lock serves as well as any"},
      {"Readmost", "readmost", "mix", 1, "Readmost, preloaded or as readmost::shared_mutex"},
      {"Readmost, readers first", "readmost-reader", "mix", 1,
       "Readmost with READMOST_PREFER=reader or preference::reader"},
      {"BRAVO over glibc's", "bravo-glibc", "mix", 1,
       "BRAVO over the present lock (readmost::bravo)"},
      {"a mutex", "mutex", "mix", 1, "a mutex in place of the lock (std::mutex)"},
      {"16 locks of glibc's", "glibc-like", "mix", 16,
       "16 locks in place of one, each for a part of the data"},
      {"RCU", "rcu", "rcu-mix", 1, "RCU (readmost/rcu.hpp), with a mutex for those who write"},
  };
  return all;
}

outcome_range range_of(std::vector<double> outcomes) {
  std::ranges::sort(outcomes);
  return {outcomes.front(), outcomes[outcomes.size() / 2], outcomes.back()};
}

advice choose(const std::vector<outcome_range>& outcomes, std::size_t among) {
  double best = 0;
  for (std::size_t i = 0; i < among; ++i) best = std::max(best, outcomes[i].median);
  advice made;
  while (outcomes[made.chosen].median < 0.9 * best) ++made.chosen;
  made.is_open = made.chosen != 0 && outcomes[made.chosen].least <= outcomes.front().most;
  return made;
}

}  // namespace readmost::simulation
