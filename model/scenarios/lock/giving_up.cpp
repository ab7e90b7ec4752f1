// SPDX-License-Identifier: Apache-2.0
// An operation that gives up at its deadline leaves no thread waiting for it.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

void lock_in_time(rwlock& lock, rules how) {
  const test::hasty_rules hasty(how, 1000);
  if (test::lock(lock, hasty) == test::acquired) test::unlock(lock, how);
}

void share_in_time(rwlock& lock, rules how) {
  const test::hasty_rules hasty(how, 1000);
  if (test::lock_shared(lock, hasty) == test::acquired) test::unlock_shared(lock);
}

// A writer that gives up while the main thread is inside, and a reader that it has kept out.
void give_up_before_reader(scenario& s, rwlock& lock, void (*hold)(rwlock&), rules of_writer,
                           rules of_reader) {
  s.timeouts(1);
  hold(lock);
  s.thread("writer", be_known, [&lock, of_writer] { lock_in_time(lock, of_writer); });
  s.thread("reader", be_known, [&lock, of_reader] { test::read(lock, 1, of_reader); });
  release_at_the_end(s, lock);
}

}  // namespace

SCENARIO(give_up_before_readers, "a writer that gives up lets in the readers that it kept out",
         effort::small) {
  give_up_before_reader(s, ordinary_lock(s), hold_actively, in_turns, in_turns);
}

SCENARIO(give_up_before_impatient_readers,
         "a writer that gives up lets in the readers that waited, however often they looked",
         effort::small) {
  give_up_before_reader(s, ordinary_lock(s), hold_actively, writers_first, {});
}

SCENARIO(give_up_over_passive_reader_before_readers,
         "a writer that gives up because of a passive reader lets in the readers that it kept out",
         effort::small) {
  give_up_before_reader(s, once_biased_lock(s), hold_while_draining, in_turns, in_turns);
}

SCENARIO(give_up_when_woken, "a writer that gives up just as it is woken wakes the next",
         effort::small) {
  s.timeouts(1);
  auto& on = ordinary_scene(s);
  s.thread("hasty", be_known, [&] { lock_in_time(on.lock, readers_first); });
  s.thread("patient", be_known, [&] { test::write(on.lock, readers_first); });
  on.thread("first", hold_alone, [&] { test::unlock(on.lock, readers_first); });
}

SCENARIO(give_up_over_reader,
         "a writer that gives up because of an active reader leaves a working lock",
         effort::small) {
  s.timeouts(1);
  auto& on = ordinary_scene(s);
  on.thread("reader", hold_actively, [&] { test::unlock_shared(on.lock); });
  s.thread("writer", be_known, [&] { lock_in_time(on.lock, writers_first); });
}

SCENARIO(give_up_as_reader, "the lock does not count a reader as waiting that has given up",
         effort::small) {
  s.timeouts(1);
  auto& on = ordinary_scene(s);
  on.thread("writer", hold_alone, [&] { test::unlock(on.lock, in_turns); });
  s.thread("reader", be_known, [&] { share_in_time(on.lock, in_turns); });
}

SCENARIO(give_up_as_last_of_a_turn,
         "a reader that gives up in the readers' phase lets in the writer that the turn kept out",
         effort::large) {
  s.timeouts(1);
  auto& on = ordinary_scene(s);
  s.thread("reader", be_known, [&] { share_in_time(on.lock, in_turns); });
  s.thread("second", be_known, [&] { test::write(on.lock, in_turns); });
  on.thread("first", hold_alone, [&] { test::unlock(on.lock, in_turns); });
}

}  // namespace readmost::model
