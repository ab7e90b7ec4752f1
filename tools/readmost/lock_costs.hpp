#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "measuring.hpp"
#include "summary.hpp"

namespace readmost::command {

// Pairs of lock and unlock, in nanoseconds.
struct lock_costs {
  struct together {
    std::size_t threads;
    spread read;  // as each of them sees it
  };
  spread read;
  spread write;
  std::vector<together> read_together;  // in the order of reader_counts()
};

// With how many threads reading is measured beside one: two, and as many as can run.
std::vector<std::size_t> reader_counts(std::size_t cpus);

nlohmann::ordered_json as_json(const lock_costs& costs);

// The opposite. Throws nlohmann::json::exception for anything else.
lock_costs lock_costs_from(const nlohmann::ordered_json& document);

// `cpus`: those that can be busy at once. `read_once` and `write_once` lock and unlock, each a lock
// of its own.
template <class Read, class Write>
lock_costs costs_of(const std::vector<int>& cpus, const effort& much, Read read_once,
                    Write write_once) {
  lock_costs costs;
  costs.read = *spread_of(time_of(much, read_once));
  costs.write = *spread_of(time_of(much, write_once));
  for (const std::size_t threads : reader_counts(cpus.size())) {
    const stay_on first(cpus.front());
    company others({cpus.begin() + 1, cpus.begin() + static_cast<std::ptrdiff_t>(threads)},
                   [&](const std::stop_token& stop) {
                     while (!stop.stop_requested()) read_once();
                   });
    costs.read_together.push_back({threads, *spread_of(time_of(much, read_once, others.clocks()))});
  }
  return costs;
}

}  // namespace readmost::command
