// SPDX-License-Identifier: Apache-2.0
// Threads exit, some of them with holds, while others write or register.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(exit_while_holding, "the hold of an exiting thread keeps a writer out", effort::small) {
  auto& on = biased_scene(s).add_holder("reader", hold_passively).exits_at_once();
  s.thread("writer", be_known,
           [&] { expect(!on.try_write(), "a writer got a lock that is held for reading"); });
  release_at_the_end(s, on.lock);
}

SCENARIO(exit_after_section, "a writer sees the end of the sections of a thread that has exited",
         effort::small) {
  biased_scene(s).add_reader_inside("reader", hold_passively).exits_at_once().add_trying_writer();
}

SCENARIO(exit_against_sleeping_writer,
         "a writer that waits for the hold of an exiting thread gets the lock when it is released",
         effort::large) {
  auto& on = biased_scene(s).add_holder("reader", hold_passively).exits_at_once();
  on.add_releaser().add_writer();
}

SCENARIO(record_passes_to_new_thread,
         "a thread that takes over a record sees the end of its last owner's sections",
         effort::small) {
  auto& on = unbiased_scene(s);
  s.thread("old thread", [&] { on.try_read(); }).exits_at_once();
  s.thread("new thread", [&] { on.try_read(); });
}

SCENARIO(exit_of_a_record_and_its_next_owner,
         "a writer misses no reader whose record has just changed hands", effort::large) {
  auto& on = biased_scene(s);
  s.thread("old thread", be_online, [] {}).exits_at_once();
  s.thread("reader", [&] { on.try_read(); });
  on.add_trying_writer();
}

}  // namespace readmost::model
