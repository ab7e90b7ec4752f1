// SPDX-License-Identifier: Apache-2.0
// The simulated kernel notes no switches.
#include "threads/switch_notes.hpp"

namespace readmost::detail {

constinit platform::atomic<switch_notes*> notes_of_switches{};

void begin_switch_notes(thread_record&) noexcept {}

bool is_switched_out(const thread_record&) noexcept {
  return false;
}

}  // namespace readmost::detail
