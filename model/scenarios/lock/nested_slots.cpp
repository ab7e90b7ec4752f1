// SPDX-License-Identifier: Apache-2.0
// A reader whose home slot is taken holds the lock in its stack of nested slots, which writers scan
// up to its height.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

// A scene of a lock whose home slot the reader needs for `other`, too.
struct two_locks {
  explicit two_locks(scenario& s)
      : on(biased_scene(s)), other(biased_lock_in_slot_of(s, on.lock, "other")) {}

  lock_scene& on;
  rwlock& other;
};

two_locks& two_locks_in_one_slot(scenario& s) {
  return s.make<two_locks>("locks", s);
}

void hold_both(rwlock& first, rwlock& second) {
  hold_passively(first);
  hold_passively(second);
}

void expect_no_nested_holds() {
  expect(my_record().nested.load(platform::relaxed) == 0, "the stack of holds is not empty");
}

}  // namespace

SCENARIO(nested_reader_against_writer,
         "a reader whose home slot is taken and a writer are never inside at once", effort::small) {
  auto& locks = two_locks_in_one_slot(s);
  locks.on.thread(
      "reader", [&] { hold_passively(locks.other); },
      [&](lock_scene& on) {
        on.try_read_passively();
        test::unlock_shared(locks.other);
      });
  locks.on.add_trying_writer();
}

SCENARIO(nested_hold_keeps_writer_waiting, "a writer waits for a nested hold and is woken",
         effort::medium) {
  auto& locks = two_locks_in_one_slot(s);
  locks.on.thread(
      "reader", [&] { hold_both(locks.other, locks.on.lock); },
      [&](lock_scene& on) {
        on.finish_reading();
        test::unlock_shared(locks.other);
        expect_no_nested_holds();
      });
  locks.on.add_writer();
}

SCENARIO(nested_released_first,
         "a writer of the lock below waits although the reader has left the nested one",
         effort::small) {
  auto& locks = two_locks_in_one_slot(s);
  locks.on.thread(
      "reader", [&] { hold_both(locks.on.lock, locks.other); },
      [&](lock_scene& on) {
        test::unlock_shared(locks.other);
        on.finish_reading();
        expect_no_nested_holds();
      });
  locks.on.add_trying_writer();
}

SCENARIO(nested_released_last, "a reader may release its home slot before a nested one",
         effort::medium) {
  auto& locks = two_locks_in_one_slot(s);
  locks.on.thread(
      "reader", [&] { hold_both(locks.other, locks.on.lock); },
      [&](lock_scene& on) {
        test::unlock_shared(locks.other);
        on.finish_reading();
        expect_no_nested_holds();
      });
  locks.on.add_trying_writer();
}

SCENARIO(nested_out_of_order,
         "a writer sees the end of a section below a nested hold that is still there",
         effort::medium) {
  auto& locks = two_locks_in_one_slot(s);
  auto& third = biased_lock_in_slot_of(s, locks.on.lock, "third");
  locks.on.thread(
      "reader",
      [&] {
        hold_both(locks.other, locks.on.lock);
        hold_passively(third);
      },
      [&](lock_scene& on) {
        on.finish_reading();
        test::unlock_shared(third);
        test::unlock_shared(locks.other);
        expect_no_nested_holds();
      });
  locks.on.add_trying_writer();
}

SCENARIO(nested_twice, "a writer misses none of two nested sections, one after the other",
         effort::medium) {
  auto& locks = two_locks_in_one_slot(s);
  locks.on.thread(
      "reader", [&] { hold_both(locks.other, locks.on.lock); },
      [&](lock_scene& on) {
        on.finish_reading();
        on.try_read_passively();
        test::unlock_shared(locks.other);
      });
  locks.on.add_trying_writer();
}

SCENARIO(nested_slot_passes_to_other_lock,
         "a writer that finds another lock in a nested slot sees the end of the section before",
         effort::medium) {
  auto& locks = two_locks_in_one_slot(s);
  auto& third = biased_lock_in_slot_of(s, locks.on.lock, "third");
  locks.on.thread(
      "reader", [&] { hold_both(locks.other, locks.on.lock); },
      [&](lock_scene& on) {
        on.finish_reading();
        if (test::try_lock_shared_passively(third)) test::unlock_shared(third);
        test::unlock_shared(locks.other);
      });
  locks.on.add_trying_writer();
}

SCENARIO(nested_second_of_one_lock,
         "a reader may hold one lock in its home slot and in a nested one", effort::medium) {
  auto& on = biased_scene(s);
  on.thread(
      "reader", [&] { hold_both(on.lock, on.lock); },
      [](lock_scene& on) {
        on.data.read();
        test::unlock_shared(on.lock);
        on.finish_reading();
        expect_no_nested_holds();
      });
  on.add_writer();
}

SCENARIO(nested_exit, "a nested hold of a thread that exits keeps a writer out", effort::medium) {
  auto& locks = two_locks_in_one_slot(s);
  auto& on = locks.on;
  on.thread(
        "reader", [&] { hold_both(locks.other, on.lock); },
        [&] { test::unlock_shared(locks.other); })
      .exits_at_once();
  s.thread("writer", be_known,
           [&] { expect(!on.try_write(), "a writer got a lock that is held for reading"); });
  release_at_the_end(s, on.lock);
}

}  // namespace readmost::model
