// SPDX-License-Identifier: Apache-2.0
// A thread read-locks again a lock that it holds for reading, although a writer waits.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

void recursive_reader_and_writer(scenario& s, lock_scene& on, void (*hold)(rwlock&),
                                 rules how = {}) {
  on.thread("reader", hold, [how](rwlock& lock) {
    test::lock_shared(lock, how);
    test::unlock_shared(lock);
    test::unlock_shared(lock);
  });
  s.thread("writer", be_known, [&on, how] { test::write(on.lock, how); });
}

}  // namespace

SCENARIO(recursion_active, "an active reader locks again while a writer waits for it",
         effort::small) {
  recursive_reader_and_writer(s, ordinary_scene(s), hold_actively);
}

SCENARIO(recursion_active_in_turns,
         "an active reader of a phase-fair lock locks again in a writer's turn too",
         effort::small) {
  recursive_reader_and_writer(s, ordinary_scene(s), hold_actively, in_turns);
}

SCENARIO(recursion_mixed,
         "a passive reader locks again, actively, while a writer sleeps until it leaves",
         effort::small) {
  recursive_reader_and_writer(s, once_biased_scene(s), hold_while_draining);
}

SCENARIO(recursion_mixed_in_turns,
         "a passive reader that meets a claim on its phase-fair lock is told when that is undone",
         effort::small) {
  recursive_reader_and_writer(s, once_biased_scene(s), hold_while_draining, in_turns);
}

SCENARIO(recursion_passive, "a passive reader locks again while a writer revokes the bias",
         effort::large) {
  recursive_reader_and_writer(s, once_biased_scene(s), hold_passively);
}

}  // namespace readmost::model
