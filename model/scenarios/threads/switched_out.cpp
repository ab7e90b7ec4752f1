// SPDX-License-Identifier: Apache-2.0
// Rounds pass threads that the kernel notes as switched out, without a membarrier.
#include "scenarios/rcu_under_test.hpp"
#include "scenarios/simulated_kernel.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// A biased lock and a passive reader of it that may be switched out after any of its steps.
lock_scene& scene_with_switched_reader(scenario& s) {
  auto& on = biased_scene(s);
  begin_switch_help(s);
  on.add_passive_reader();
  may_be_switched(s);
  return on;
}

}  // namespace

SCENARIO(switched_out_reader_against_writer,
         "a writer that passes a reader that is switched out misses none of its holds",
         effort::small) {
  scene_with_switched_reader(s).add_trying_writer();
}

SCENARIO(switched_out_reader_of_two_rounds,
         "a reader that runs again while a round makes it dormant is not missed by the next",
         effort::medium) {
  auto& on = scene_with_switched_reader(s);
  on.thread("writer", be_known, [](lock_scene& of) {
    run_round();
    of.try_write();
  });
}

SCENARIO(switched_out_reader_of_two_writers,
         "a reader that one round has made dormant without a membarrier is missed by no other",
         effort::large) {
  auto& on = scene_with_switched_reader(s);
  s.thread("other writer", be_known, run_round);
  on.add_trying_writer();
}

SCENARIO(switched_out_again_while_made_dormant,
         "a reader that takes a hold between a round's two looks at its note is not missed",
         effort::large) {
  auto& on = biased_scene(s);
  begin_switch_help(s);
  // Orders nothing.
  auto& over = s.make<platform::atomic<std::uint32_t>>("over", 0U);
  const auto be_switched_out = [] {
    be_online();
    switch_out();
  };
  on.thread("reader", be_switched_out, [](lock_scene& of) {
    switch_in();
    of.try_read_passively();
  });
  may_be_switched(s);
  s.thread("other writer", be_known, [&] {
    run_round();
    over.store(1, platform::relaxed);
  });
  on.thread("writer", be_known, [&] {
    while (over.load(platform::relaxed) == 0) platform::yield();
    on.try_write();
  });
}

SCENARIO(switched_out_holder_against_sleeping_writer,
         "a writer that has found the hold of a switched-out reader is woken by its release",
         effort::large) {
  auto& on = scene_on(s, without_bias_to_come(biased_lock(s)));
  s.spins(0);
  begin_switch_help(s);
  on.add_reader_inside("reader", hold_passively);
  may_be_switched(s);
  on.add_writer();
}

SCENARIO(switched_out_reader_and_death_of_keeper,
         "no note is believed that the kernel has left behind when it unloaded its half",
         effort::medium) {
  auto& on = scene_with_switched_reader(s);
  s.thread("keeper", end_keeper);
  on.add_trying_writer();
}

SCENARIO(switched_out_section_against_updater,
         "a grace period that passes a reader that is switched out waits for its section",
         effort::medium) {
  auto& versions = begin_with_two_versions(s);
  begin_switch_help(s);
  versions.add_reader("reader", be_online);
  may_be_switched(s);
  versions.add_updater();
}

}  // namespace readmost::model
