// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "profile/contention.hpp"
#include "top/target.hpp"

namespace readmost::command {

// Copies of a process's profiles: each copy of the library in it has one.
struct kept_profiles {
  std::map<std::uintptr_t, profile_copy> by_address;
  bool lacks_other_build = false;  // see warn_of_other_build()
};

// As they are now. Throws failure if the process keeps none.
kept_profiles profiles_of(const top_process& process);

}  // namespace readmost::command
