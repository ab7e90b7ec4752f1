// SPDX-License-Identifier: Apache-2.0
// The violations that a search can find, and the steps that lead to them.
#pragma once

#include <source_location>
#include <string>
#include <vector>

namespace readmost::model {

enum class violation_kind {
  none,
  assertion,       // an expectation of the scenario does not hold
  data_race,       // plain data, accessed by two threads at once
  deadlock,        // no thread can go on, and one waits
  lost_wake_up,    // no thread can go on, and all that wait are asleep on a futex
  livelock,        // threads spin for ever
  use_after_free,  // access to an object after its destruction
  leak,            // a resource was not given back
};
const char* name_of(violation_kind kind) noexcept;

struct violation {
  violation_kind kind = violation_kind::none;
  std::string what;
  std::source_location at;
};

struct recorded_step {
  std::string who;
  std::string what;
  std::string where;
  std::string buffers;  // the contents of store buffers afterwards
};

}  // namespace readmost::model
