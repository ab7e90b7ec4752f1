// SPDX-License-Identifier: Apache-2.0
// The guarantees of a reader-writer lock. Each function tests one of them on locks that it makes
// and returns whether it held; a lock without the guarantee fails the test.
#pragma once

#include "lock_under_test.hpp"

namespace rivals::test {

// The time to wait for an event that should not happen; long if the test expects it.
struct patience {
  int milliseconds;
};
inline constexpr patience little{20};
inline constexpr patience much{20'000};

// More threads than CPUs read and write at once.
bool keeps_writers_apart(const lock_maker& make, patience how_long);

// More readers than a lock has places are inside at once.
bool lets_readers_in_together(const lock_maker& make);

bool writer_waits_for_the_last_reader(const lock_maker& make, patience how_long);
bool reader_waits_for_writer(const lock_maker& make, patience how_long);
bool writer_waits_for_writer(const lock_maker& make, patience how_long);

// try_lock and try_lock_shared fail when they must, and a failure leaves nothing behind.
bool trying_tells(const lock_maker& make);
// try_lock fails at once.
bool trying_does_not_wait(const lock_maker& make);

// One thread holds many locks at once and releases them in various orders.
bool are_held_and_left_in_any_order(const lock_maker& make);

// Many more threads than places start, read and write, and exit; at times many exist at once.
bool serves_threads_that_come_and_go(const lock_maker& make);

// A reader inside may lock again while a writer waits.
bool lets_a_reader_in_again(const lock_maker& make);

}  // namespace rivals::test
