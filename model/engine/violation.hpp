// What a search can find wrong, and the steps that lead there.
#pragma once

#include <source_location>
#include <string>
#include <vector>

namespace readmost::model {

enum class violation_kind {
  none,
  assertion,       // an expectation of the scenario does not hold
  data_race,       // plain data, accessed by two threads at once
  deadlock,        // nobody can go on, and somebody waits
  lost_wake_up,    // nobody can go on, and all who wait are asleep on a futex
  livelock,        // threads take turns for ever
  use_after_free,  // of an object that its owner has destroyed
  leak,            // something was not given back
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
  std::string buffers;  // what is still in store buffers, afterwards
};

}  // namespace readmost::model
