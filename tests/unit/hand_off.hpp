// SPDX-License-Identifier: Apache-2.0
// A thread that has slept and found the lock taken again: it asks to be next.
#pragma once

#include "lock/parking.hpp"
#include "lock/waking.hpp"
#include "support/helper_thread.hpp"
#include "support/surface.hpp"

namespace test {

// Takes the lock for the caller, lets the writer wait for it, and wakes the writer as if the lock
// had been free meanwhile. False if it does not ask.
inline bool has_it_ask_to_be_next(rwlock& l, helper_thread& writer, rules how) {
  if (lock(l, how) != acquired) return false;
  writer.begin([&l, how] { return lock(l, how); });
  if (!writer.falls_asleep()) return false;
  platform::futex_wake(sleep_word(l), 1, parking::writers);
  return wait_until([&] { return (l.state.load() & rwlock::handoff) != 0; }) &&
         writer.falls_asleep();
}

}  // namespace test
