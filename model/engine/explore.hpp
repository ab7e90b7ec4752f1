// Runs a scenario again and again until a search has seen what it wants to see, or something wrong.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine/scenario.hpp"
#include "engine/search.hpp"

namespace readmost::model {

enum class search_kind : std::uint8_t { exhaustive, bounded, plain, random, pct, replay };
const char* name_of(search_kind kind) noexcept;

struct exploration {
  memory_model memory = memory_model::release_acquire;
  search_kind search = search_kind::exhaustive;
  unsigned bound = 2;            // bounded: surprises; pct: depth
  std::uint64_t seed = 1;        // random, pct
  std::uint64_t runs = 100'000;  // random, pct
  std::vector<choice> schedule;  // replay
  limits bounds;
  std::chrono::milliseconds time{0};  // at most; 0: as long as it takes
  bool shrinks = true;                // makes a failing schedule shorter
  // Called now and then.
  std::function<void(std::uint64_t executions, double seconds)> progress;

  void limit_time(double seconds) {
    time = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  }
};

struct finding {
  violation what;
  std::uint64_t execution = 0;  // in which it was met, counted from 1
  std::uint64_t seed = 0;       // of that execution, where lots were drawn
  std::vector<choice> schedule;
  std::vector<recorded_step> record;  // of the schedule
};

struct result {
  bool failed = false;
  bool complete = false;  // nothing is left to see
  finding found;
  std::uint64_t executions = 0;  // run to their end
  std::uint64_t abandoned = 0;   // the rest of which had been seen
  std::uint64_t steps = 0;
  double seconds = 0;
  std::vector<std::vector<std::int64_t>> outcomes;  // that scenarios observed, sorted
};

result explore(const execution::body& scenario, const exploration& how);

// What to print of a finding; `name` and the model are those of the search.
std::string describe(const finding& found, const std::string& name, memory_model memory);

}  // namespace readmost::model
