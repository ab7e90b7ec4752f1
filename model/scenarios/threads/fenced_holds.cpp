// SPDX-License-Identifier: Apache-2.0
// Passive holds of threads that cannot be online, because membarrier(2) is missing: their readers
// execute the fence.
#include "scenarios/lock_scene.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// As a lock that has got its bias while membarrier is missing.
rwlock& for_fenced_holds(rwlock& biased) {
  const std::uint64_t state = biased.state.load(platform::relaxed);
  biased.state.store((state & ~rwlock::biased) | rwlock::biased_on_slow_path, platform::relaxed);
  return biased;
}

lock_scene& fenced_scene(scenario& s) {
  s.without_membarrier();
  s.spins(0);
  return scene_on(s, for_fenced_holds(biased_lock(s)));
}

// In the index, as after a first fenced hold.
void be_visible() {
  be_known();
  stay_visible(my_record());
}

void be_visible_and_long_idle() {
  be_visible();
  seem_long_idle();
}

void hold_fenced(rwlock& lock) {
  be_visible();
  expect(test::lock_shared(lock) == test::acquired && test::holds_passively(lock),
         "the scenario does not begin with a passive hold");
}

void hold_fenced_and_seem_idle(rwlock& lock) {
  hold_fenced(lock);
  seem_long_idle();
}

// A round takes idle records out of the index, and the next one is the writer's.
void write_after_round(lock_scene& on) {
  run_round();
  on.try_write();
}

}  // namespace

SCENARIO(fenced_reader_against_writer, "a fenced reader and a writer are never inside at once",
         effort::small) {
  fenced_scene(s).add_trying_reader("reader", be_visible).add_trying_writer();
}

SCENARIO(fenced_reader_from_outside_the_index,
         "a writer finds a fenced reader that enters the index as it publishes its hold",
         effort::small) {
  fenced_scene(s).add_trying_reader("reader", be_known).add_trying_writer();
}

SCENARIO(two_fenced_holds, "a writer finds a fenced hold whose home slot was taken",
         effort::medium) {
  auto& on = fenced_scene(s);
  auto& other = for_fenced_holds(biased_lock_in_slot_of(s, on.lock, "other"));
  const auto hold_other = [&] { hold_fenced(other); };
  on.thread("reader", hold_other, [&] {
    on.try_read();
    test::unlock_shared(other);
  });
  on.add_trying_writer();
}

SCENARIO(fenced_hold_ends, "a writer sees what a fenced reader has done inside", effort::small) {
  fenced_scene(s).add_reader_inside("reader", hold_fenced).add_trying_writer();
}

SCENARIO(writer_waits_for_fenced_hold, "a writer that sleeps until a fenced hold ends wakes up",
         effort::small) {
  fenced_scene(s).add_reader_inside("reader", hold_fenced).add_writer();
}

SCENARIO(fenced_reader_while_unlisted,
         "the next writer finds a fenced reader that enters while its record is taken out of the "
         "index",
         effort::medium) {
  fenced_scene(s)
      .add_trying_reader("reader", be_visible_and_long_idle)
      .thread("writer", be_known, write_after_round);
}

SCENARIO(fenced_hold_is_not_unlisted,
         "the record of a thread with a fenced hold stays in the index", effort::small) {
  fenced_scene(s)
      .add_reader_inside("reader", hold_fenced_and_seem_idle)
      .thread("writer", be_known, write_after_round);
}

SCENARIO(fenced_hold_released_by_another,
         "a writer gets the lock after another thread has released a fenced hold", effort::medium) {
  fenced_scene(s).add_holder("holder", hold_fenced).add_releaser().add_trying_writer();
}

SCENARIO(fenced_reader_beside_one_online,
         "a writer finds a fenced reader and one that was online before membarrier failed",
         effort::large) {
  auto& on = biased_scene(s);
  s.without_membarrier();
  const auto be_visible_from_now_on = [] {
    give_up_membarrier();
    be_visible();
  };
  on.add_trying_reader("online").add_trying_reader("fenced", be_visible_from_now_on);
  on.add_trying_writer();
}

}  // namespace readmost::model
