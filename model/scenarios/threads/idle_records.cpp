// SPDX-License-Identifier: Apache-2.0
// Rounds take records that have long been idle out of the index.
#include "scenarios/lock_scene.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

bool is_present(const thread_record& record) {
  return (entry_of(record).present.load() >> number_of(record) & 1) != 0;
}

void be_online_after_long_idleness() {
  be_online();
  seem_long_idle();
}

// Goes offline between the two halves of its section, if it gets the first.
void try_read_offline(lock_scene& on) {
  if (!test::try_lock_shared_passively(on.lock)) return;
  go_offline();
  on.finish_reading();
}

}  // namespace

SCENARIO(idle_record_leaves_index, "a round takes a record out of the index that has been idle",
         effort::small) {
  auto& on = scene_on(s, biased_lock(s));
  auto& idle = s.make<platform::atomic<thread_record*>>("idle record");
  const auto be_idle = [&] {
    be_long_idle();
    idle.store(&my_record());
  };
  s.thread("idle thread", be_idle, [] {});
  s.thread("writer", be_known, [&] {
    on.write();
    expect(!is_present(*idle.load()), "an idle record is still in the index");
  });
}

SCENARIO(retirement_against_coming_online,
         "a record is not taken out of the index while its thread comes online", effort::medium) {
  biased_scene(s).add_trying_reader("reader", be_long_idle).add_trying_writer();
}

SCENARIO(retirement_and_next_round,
         "the next round finds a reader that comes online while it is taken out of the index",
         effort::medium) {
  auto& first = biased_lock(s, "first");
  biased_scene(s)
      .add_trying_reader("reader", be_long_idle)
      .thread("writer", be_known, [&](lock_scene& on) {
        test::write(first);
        on.try_write();
      });
}

SCENARIO(retirement_by_another_writer,
         "a writer finds a reader that comes online while another takes it out of the index",
         effort::large) {
  biased_scene(s).add_trying_writer().add_trying_reader("reader", be_long_idle);
  s.thread("first writer", be_known, run_round);
}

SCENARIO(long_idle_holder, "a record is not taken out of the index while it holds a lock",
         effort::small) {
  biased_scene(s).add_reader_inside("reader", hold_while_long_idle).add_trying_writer();
}

SCENARIO(retired_after_its_section,
         "a writer that does not find a record in the index sees the end of its thread's sections",
         effort::medium) {
  biased_scene(s).add_trying_writer().add_reader_inside("reader", hold_while_long_idle);
  s.thread("first writer", be_known, run_round);
}

SCENARIO(goes_idle_holding,
         "a record is not taken out of the index if its thread goes offline with a hold",
         effort::medium) {
  biased_scene(s)
      .thread("reader", be_online_after_long_idleness, try_read_offline)
      .add_trying_writer();
}

SCENARIO(idle_holder_left_in_index,
         "the next writer sees the hold of a record that a round has left in the index",
         effort::large) {
  biased_scene(s).add_trying_writer().thread("reader", be_online_after_long_idleness,
                                             try_read_offline);
  s.thread("first writer", be_known, run_round);
}

SCENARIO(leaves_index_holding, "a thread that leaves the index with a hold stays in it",
         effort::medium) {
  biased_scene(s)
      .thread("reader", hold_passively,
              [](lock_scene& on) {
                leave_index(my_record());
                on.finish_reading();
              })
      .add_trying_writer();
}

SCENARIO(
    leaves_index_beside_a_round,
    "a writer finds a reader that comes back after it has left the index while a round took it "
    "out",
    effort::large) {
  biased_scene(s).add_trying_writer().thread("reader", be_long_idle, [](lock_scene& on) {
    leave_index(my_record());
    if (come_online(my_record()) && test::try_lock_shared_passively(on.lock)) on.finish_reading();
  });
  s.thread("first writer", be_known, run_round);
}

SCENARIO(goes_idle_holding_after_its_report,
         "a round does not retire a reader that reported to it and then went offline with a hold",
         effort::large) {
  auto& first = biased_lock(s, "first");
  const auto hold_first = [&] {
    hold_passively(first);
    seem_long_idle();
  };
  biased_scene(s).add_trying_writer().thread("reader", hold_first, [&](lock_scene& on) {
    test::unlock_shared(first);
    try_read_offline(on);
  });
  s.thread("first writer", be_known, run_round);
}

}  // namespace readmost::model
