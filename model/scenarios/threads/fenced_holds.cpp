// SPDX-License-Identifier: Apache-2.0
// Passive holds whose readers execute the fence: where membarrier(2) is missing, so that no thread
// is online, and where it works but the lock is biased by fences.
#include "lock/bias_trial.hpp"
#include "scenarios/lock_scene.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// As a lock that has got its bias by fences.
rwlock& for_fenced_holds(rwlock& biased) {
  const std::uint64_t state = biased.state.load(platform::relaxed);
  biased.state.store((state & ~rwlock::biased) | rwlock::biased_by_fences, platform::relaxed);
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

// --- Where membarrier works ----------------------------------------------------------------------

namespace {

lock_scene& scene_of_trial(scenario& s) {
  s.spins(0);
  return scene_on(s, for_fenced_holds(biased_lock(s)));
}

// From now on locks get their bias by fences.
void choose_fences() {
  bias_trials[0].fences_end.store(~std::uint64_t{0}, platform::relaxed);
}

// Its next fenced read gives the lock its usual bias.
void be_about_to_look_at_trial(rwlock& lock) {
  be_online();
  my_record().reads[home_slot(&lock)].store(1'023, platform::relaxed);
}

}  // namespace

SCENARIO(fenced_reader_online_against_writer,
         "a fenced reader that is online and a writer are never inside at once", effort::small) {
  choose_fences();
  scene_of_trial(s).add_trying_reader().add_trying_writer();
}

SCENARIO(writer_waits_for_fenced_hold_online,
         "a writer that sleeps until the fenced hold of a thread that is online ends wakes up",
         effort::small) {
  choose_fences();
  scene_of_trial(s).add_reader_inside("reader", hold_passively).add_writer();
}

SCENARIO(usual_bias_given_back,
         "a fenced reader gives a lock its usual bias, and writers find readers of both kinds",
         effort::large) {
  auto& on = scene_of_trial(s);
  on.thread("fenced reader", be_about_to_look_at_trial, [](lock_scene& on) { on.try_read(); });
  on.add_passive_reader().add_trying_writer();
  s.finally([&] {
    expect(!test::is_biased_by_fences(on.lock), "the lock has kept its fences");
    expect_all_given_back(on.lock);
  });
}

}  // namespace readmost::model
