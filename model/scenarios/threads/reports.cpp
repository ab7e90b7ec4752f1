// SPDX-License-Identifier: Apache-2.0
// Readers that report, against writers that wait for the reports or run a membarrier instead.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

// A reader that holds two locks, or one lock twice, and releases the second hold first.
void two_holds_against_writer(lock_scene& on, rwlock& second) {
  const auto hold_both = [&second](rwlock& lock) {
    hold_passively(lock);
    test::lock_shared(second);
  };
  on.thread("reader", hold_both, [&second](lock_scene& on) {
    test::unlock_shared(second);
    on.finish_reading();
  });
  on.add_trying_writer();
}

// A reader inside tries for a second hold, and leaves.
lock_scene& add_reader_that_tries(lock_scene& on, rwlock& second) {
  return on.thread("reader", hold_passively, [&second](lock_scene& on) {
    if (test::try_lock_shared(second) == test::acquired) test::unlock_shared(second);
    on.finish_reading();
  });
}

}  // namespace

SCENARIO(report_while_holding_another,
         "a writer waits for a reader that reports while it holds the lock", effort::small) {
  auto& on = biased_scene(s);
  two_holds_against_writer(on, biased_lock(s, "other"));
}

SCENARIO(same_lock_held_twice, "a writer waits for both holds of a reader that has two",
         effort::small) {
  auto& on = biased_scene(s);
  two_holds_against_writer(on, on.lock);
}

SCENARIO(same_lock_taken_twice,
         "a reader that takes the lock twice and a writer are never inside at once",
         effort::small) {
  auto& on = biased_scene(s);
  add_reader_that_tries(on, on.lock).add_trying_writer();
}

SCENARIO(two_rounds_against_reader,
         "a writer that relies on the membarrier of its earlier round misses no reader",
         effort::small) {
  auto& first = biased_lock(s, "first");
  biased_scene(s).add_passive_reader().thread("writer", be_known, [&](lock_scene& on) {
    test::write(first);
    on.try_write();
  });
}

SCENARIO(two_writers_against_reader,
         "a writer that relies on the membarrier of another one misses no reader", effort::large) {
  biased_scene(s).add_trying_writer().add_passive_reader();
  s.thread("first writer", be_known, run_round);
}

SCENARIO(reader_waits_and_reports,
         "a reader that waits for one writer reports to another, and neither misses it",
         effort::large) {
  auto& on = biased_scene(s);
  s.spins(1);
  auto& other = unbiased_lock(s, "other");
  add_reader_that_tries(on, other).add_trying_writer();
  s.thread("other writer", be_known, [&] { test::write(other); });
}

}  // namespace readmost::model
