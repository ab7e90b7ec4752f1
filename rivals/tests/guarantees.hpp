// What a reader-writer lock has to keep. Each function tries one guarantee on locks that it makes
// and says whether it was kept; of a lock that does not keep it, it finds that out.
#pragma once

#include "lock_under_test.hpp"

namespace rivals::test {

// How long to look for what should not happen. Whoever expects it to happen gives much.
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

// Operations that only try fail where they have to, and where they have they leave nothing behind.
bool trying_tells(const lock_maker& make);
// A writer's fails at once.
bool trying_does_not_wait(const lock_maker& make);

// One thread reads many locks at once and leaves them in other orders than it came.
bool are_held_and_left_in_any_order(const lock_maker& make);

// Many more threads than places come, read and write, and go; at times many are there at once.
bool serves_threads_that_come_and_go(const lock_maker& make);

// A reader inside may lock again while a writer waits.
bool lets_a_reader_in_again(const lock_maker& make);

}  // namespace rivals::test
