// A writer takes the bias of a lock away from readers that are on their way in, or inside.
#include "scenarios/situations.hpp"

namespace readmost::model {

SCENARIO(writer_waits_for_passive_reader, "a writer waits for a passive reader that is inside",
         effort::small) {
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { hold_passively(lock); }, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(writer_waits_for_active_reader, "a writer waits for an active reader of a biased lock",
         effort::small) {
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  const auto enter = [&] {
    be_known();
    lock.state.store(0);
    unit::lock_shared(lock);
    lock.state.fetch_or(rwlock::biased);
  };
  s.thread("reader", enter, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(second_section_against_writer,
         "a reader that leaves and comes back, and a writer that tries, are never inside at once",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_passively(lock); },
      [&] {
        finish_reading(lock, data);
        try_read_passively(lock, data);
      });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(slot_passes_to_other_lock,
         "a writer that finds a slot used for another lock is behind the section before that",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& other = biased_lock_in_slot_of(s, lock, "other");
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_passively(lock); },
      [&] {
        finish_reading(lock, data);
        if (try_lock_shared_passive(other, my_record())) unit::unlock_shared(other);
      });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

// The same where the next use of the slot is the note of an active hold, and goes as far as `next`.
template <class Next>
void pass_slot_to_active_hold(scenario& s, Next next, bool exits = false) {
  auto& lock = biased_lock(s);
  auto& other = biased_lock_in_slot_of(s, lock, "other");
  other.state.store(0, platform::relaxed);
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_passively(lock); },
      [&, next] {
        finish_reading(lock, data);
        next(other);
      });
  if (exits) s.exits_at_once();
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
}

SCENARIO(slot_passes_to_active_hold,
         "a writer that finds the note of an active hold is behind the section before that",
         effort::small) {
  pass_slot_to_active_hold(s, [](rwlock& other) {
    if (!try_lock_shared_active(other, my_record(), default_domain, {})) return;
    try_unlock_shared_active(other, my_record());
  });
}

SCENARIO(slot_passes_to_active_hold_by_slow_paths,
         "the same of an active hold that the slow paths have noted and taken off", effort::small) {
  pass_slot_to_active_hold(s, [](rwlock& other) {
    lock_shared_slow(other, {});
    unlock_shared_slow(other);
  });
}

SCENARIO(slot_passes_to_active_hold_at_exit,
         "the same of an active hold with which its thread exits", effort::small) {
  pass_slot_to_active_hold(s, [](rwlock& other) { lock_shared_slow(other, {}); }, true);
}

SCENARIO(slot_passes_to_upgraded_hold, "the same of an active hold that is upgraded",
         effort::small) {
  pass_slot_to_active_hold(s, [](rwlock& other) {
    lock_shared_slow(other, {});
    unit::try_upgrade(other);
  });
}

SCENARIO(reader_after_writer, "a passive reader sees what the writer wrote that gave the bias back",
         effort::small) {
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_online, [&] { try_read_under(lock, data); });
  s.thread("writer", [&] { hold_alone(lock); }, [&] { finish_writing(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(one_of_two_readers_in_time, "a writer misses neither of two readers", effort::medium) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  const auto read = [&] { try_read_passively(lock, data); };
  s.thread("reader", be_online, read);
  s.thread("other reader", be_online, read);
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(claim_of_draining_lock,
         "a writer that finds the lock draining relies on the consensus of the one before",
         effort::large) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("second writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("writer", be_known, [&] { write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
