// SPDX-License-Identifier: Apache-2.0
#include "engine/explore.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/report.hpp"
#include "engine/shrink.hpp"

namespace readmost::model {

const char* name_of(search_kind kind) noexcept {
  static constexpr const char* names[] = {"exhaustive", "bounded", "plain",
                                          "random",     "pct",     "replay"};
  return names[static_cast<std::size_t>(kind)];
}

namespace {

std::unique_ptr<search> make_search(const exploration& how) {
  switch (how.search) {
    case search_kind::exhaustive:
      return make_exhaustive();
    case search_kind::bounded:
      return make_bounded(how.bound);
    case search_kind::plain:
      return make_plain();
    case search_kind::random:
      return make_random(how.seed, how.runs);
    case search_kind::pct:
      return make_pct(how.seed, how.runs, how.bound);
    case search_kind::replay:
      return make_replay(how.schedule);
  }
  return nullptr;
}

}  // namespace

result explore(const execution::body& scenario, const exploration& how) {
  using clock = std::chrono::steady_clock;
  const auto started = clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(clock::now() - started).count();
  };
  result made;
  execution run(how.memory, how.bounds);
  const auto by = make_search(how);
  std::set<std::vector<std::int64_t>> outcomes;
  std::uint64_t begun = 0;
  for (;;) {
    const auto ending = run.run(scenario, *by);
    if (ending == execution::ending::surprised) {
      by->restart();
      continue;
    }
    ++begun;
    made.steps += run.events().size();
    if (ending == execution::ending::complete) {
      ++made.executions;
      if (!run.observed().empty()) outcomes.insert(run.observed());
    } else if (ending == execution::ending::abandoned) {
      ++made.abandoned;
    } else {
      ++made.executions;
      made.failed = true;
      made.found.what = run.found();
      made.found.execution = begun;
      made.found.seed = how.seed + begun - 1;
      made.found.schedule = run.schedule();
      break;
    }
    if (!by->next()) {
      made.complete = how.search == search_kind::exhaustive || how.search == search_kind::plain;
      break;
    }
    if (begun == how.most_executions) {
      made.too_large = true;
      break;
    }
    constexpr std::uint64_t between_looks = 1024;
    if (begun % between_looks == 0) {
      if (how.progress) how.progress(begun, seconds());
      if (how.time.count() != 0 && seconds() * 1000 > static_cast<double>(how.time.count())) break;
    }
  }
  made.seconds = seconds();
  made.outcomes.assign(outcomes.begin(), outcomes.end());
  if (made.failed) {
    if (how.shrinks) made.found.schedule = shrink(run, scenario, made.found);
    if (run_schedule(run, scenario, made.found.schedule, true) == execution::ending::violated) {
      made.found.what = run.found();  // now with the names of variables
    }
    made.found.record = run.record();
  }
  return made;
}

std::string describe(const finding& found, const std::string& name, memory_model memory) {
  std::string place = place_in_source(found.what.at);
  // Accesses of plain data do not carry their place in the source; the last step shows it.
  place = place.starts_with("platform.hpp") ? "" : "at " + place + ", ";
  return fmt::format(
      "{}: {}\n  {}in execution {} of {} under {}\n\n{}\n"
      "To replay it: readmost-model run {} --memory {} --schedule \"{}\"\n",
      name_of(found.what.kind), found.what.what, place, found.execution, name, name_of(memory),
      interleaving(found.record), name, name_of(memory), to_text(found.schedule));
}

}  // namespace readmost::model
