// SPDX-License-Identifier: Apache-2.0
// No loader has left notes to a simulated process; scenarios/simulated_kernel.cpp makes some.
#include "threads/switch_notes.hpp"

namespace readmost::detail {

constinit platform::atomic<switch_notes*> notes_of_switches{};

}  // namespace readmost::detail
