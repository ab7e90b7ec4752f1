// Rounds that take long idle records out of the index.
#include "scenarios/situations.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

bool is_present(const thread_record& record) {
  return (record.home->present.load() >> record.number & 1) != 0;
}

void be_online_after_long_idleness() {
  be_online();
  seem_long_idle();
}

void hold_while_long_idle(rwlock& lock) {
  hold_passively(lock);
  go_offline();
  seem_long_idle();
}

// Goes offline between the two halves of its section, if it gets the first.
void try_read_offline(rwlock& lock, const guarded& data) {
  if (!try_lock_shared_passive(lock, my_record())) return;
  go_offline();
  finish_reading(lock, data);
}

}  // namespace

SCENARIO(idle_record_leaves_index, "a record that has long been idle is looked at no more",
         effort::small) {
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  auto& idle = s.make<platform::atomic<thread_record*>>("idle record");
  s.thread(
      "idle thread",
      [&] {
        be_long_idle();
        idle.store(&my_record());
      },
      [] {});
  s.thread("writer", be_known, [&] {
    write_under(lock, data);
    expect(!is_present(*idle.load()), "an idle record is still in the index");
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(retirement_against_coming_online,
         "a record is not taken out of the index while its thread comes online", effort::medium) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_long_idle, [&] { try_read_under(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(retirement_and_next_round,
         "a reader that comes online while it is taken out of the index is met by the next round",
         effort::medium) {
  s.turns(0);
  auto& first = biased_lock(s, "first");
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_long_idle, [&] { try_read_under(lock, data); });
  s.thread("writer", be_known, [&] {
    unit::write(first);
    try_write_under(lock, data);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(retirement_by_another_writer,
         "a reader that comes online while one writer takes it out of the index is met by another",
         effort::large) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("reader", be_long_idle, [&] { try_read_under(lock, data); });
  s.thread("first writer", be_known, run_round);
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(long_idle_holder, "a record is not taken out of the index while it holds a lock",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { hold_while_long_idle(lock); }, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(retired_after_its_section,
         "who does not find a record in the index is behind the sections of its thread",
         effort::medium) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("reader", [&] { hold_while_long_idle(lock); }, [&] { finish_reading(lock, data); });
  s.thread("first writer", be_known, run_round);
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(goes_idle_holding,
         "a record whose thread goes offline holding is not taken out of the index",
         effort::medium) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_online_after_long_idleness, [&] { try_read_offline(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(idle_holder_left_in_index,
         "what a record holds that a round has left in the index is seen by the next writer",
         effort::large) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("reader", be_online_after_long_idleness, [&] { try_read_offline(lock, data); });
  s.thread("first writer", be_known, run_round);
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(goes_idle_holding_after_its_report,
         "a round does not retire a reader that reported to it, then went offline holding",
         effort::large) {
  s.turns(0);
  auto& first = biased_lock(s, "first");
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread(
      "reader",
      [&] {
        hold_passively(first);
        seem_long_idle();
      },
      [&] {
        unit::unlock_shared(first);
        try_read_offline(lock, data);
      });
  s.thread("first writer", be_known, run_round);
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
