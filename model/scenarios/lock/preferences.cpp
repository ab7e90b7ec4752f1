// SPDX-License-Identifier: Apache-2.0
// Which of the waiting readers and writers goes first.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

void turn_of_readers_among(scenario& s, unsigned cpus) {
  s.cpus(cpus);
  auto& on = ordinary_scene(s);
  auto& waited = s.make<variable<bool>>("waited");
  auto& was_in = s.make<variable<bool>>("was in");
  s.thread("reader", be_known, [&] {
    test::lock_shared(on.lock, in_turns);
    was_in = true;
    test::unlock_shared(on.lock);
  });
  s.thread("second", be_known, [&] {
    test::lock(on.lock, in_turns);
    expect(!waited || was_in, "a second writer has overtaken a reader that waited");
    test::unlock(on.lock, in_turns);
  });
  on.thread("first", hold_alone, [&] {
    waited = (on.lock.state.load(platform::relaxed) & rwlock::waiting_readers) != 0;
    test::unlock(on.lock, in_turns);
  });
}

}  // namespace

SCENARIO(turn_of_readers,
         "no second writer overtakes a reader that is counted as waiting for a phase-fair lock, "
         "where threads outnumber the CPUs",
         effort::large) {
  turn_of_readers_among(s, 2);
}

SCENARIO(turn_of_readers_that_have_cpus, "the same where they do not", effort::large) {
  turn_of_readers_among(s, 3);
}

SCENARIO(
    turn_by_the_bias,
    "readers that get their turn by the bias and the writer that they keep out are never inside "
    "at once, and all get in",
    effort::large) {
  s.cpus(4);
  unbiased_scene(s)
      .add_reader("reader", in_turns)
      .add_passive_reader("newcomer")
      .add_writer("second", in_turns)
      .add_writer_inside("first", in_turns);
}

SCENARIO(turn_of_reader_that_starves,
         "a reader that writers have overtaken takes a turn of its own, and wakes the writers that "
         "it kept out",
         effort::large) {
  s.timeouts(2);
  auto& on = ordinary_scene(s).add_writer("another").add_reader();
  on.thread("one", hold_alone, [&] {
    test::unlock(on.lock);
    on.write();
  });
}

SCENARIO(turn_left_to_reader_that_starves,
         "a reader that leaves a turn to one that starves gets in, too, and so do the writers",
         effort::large) {
  s.timeouts(1);
  s.cpus(1);
  auto& on = ordinary_scene(s).add_writer("another").add_reader().add_reader("newcomer");
  on.thread("one", hold_alone, [&] { test::unlock(on.lock); });
}

SCENARIO(readers_first_over_waiting_writer,
         "under reader preference a waiting writer keeps no reader out, and is woken in the end",
         effort::small) {
  ordinary_scene(s).add_reader_that_awaits_another(hold_actively);
}

SCENARIO(readers_first_over_draining_writer,
         "under reader preference a writer that waits for a passive reader keeps no reader out",
         effort::large) {
  once_biased_scene(s).add_reader_that_awaits_another(hold_while_draining);
}

SCENARIO(readers_first_bias_given_over_sleeping_writer,
         "a reader that gives the bias wakes the sleeping writer", effort::small) {
  auto& on = unbiased_scene(s);
  on.thread("reader", hold_actively, [](rwlock& lock) {
    update_account(lock, readers_first);
    test::unlock_shared(lock);
  });
  s.thread("writer", be_known, [&] { test::write(on.lock, readers_first); });
}

}  // namespace readmost::model
