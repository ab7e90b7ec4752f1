// SPDX-License-Identifier: Apache-2.0
// Runs a scenario again and again until a search is done or has found a violation.
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
  std::chrono::milliseconds time{0};  // limit; 0: none
  std::uint64_t most_executions = 0;  // limit, of those begun; 0: none
  bool shrinks = true;                // makes a failing schedule shorter
  // Called from time to time.
  std::function<void(std::uint64_t executions, double seconds)> progress;

  void limit_time(double seconds) {
    time = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
  }
};

struct finding {
  violation what;
  std::uint64_t execution = 0;  // the one that failed, counted from 1
  std::uint64_t seed = 0;       // of that execution, if the search is random
  std::vector<choice> schedule;
  std::vector<recorded_step> record;  // the steps of the schedule
};

struct result {
  bool failed = false;
  bool complete = false;   // the search has covered all executions
  bool too_large = false;  // it has reached its most executions
  finding found;
  std::uint64_t executions = 0;  // those that ran to their end
  std::uint64_t abandoned = 0;   // those whose rest is covered by others
  std::uint64_t steps = 0;
  double seconds = 0;
  std::vector<std::vector<std::int64_t>> outcomes;  // observed by the scenario, sorted
};

result explore(const execution::body& scenario, const exploration& how);

// The report of a finding. `name` and the model are those of the search.
std::string describe(const finding& found, const std::string& name, memory_model memory);

}  // namespace readmost::model
