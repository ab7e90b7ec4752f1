// Operations that only try: they wait for nobody but who is about to know, and fail only if they
// have to.
#include <array>

#include "scenarios/situations.hpp"

namespace readmost::model {

namespace {

void two_writers_try(scenario& s, rwlock& lock) {
  auto& data = s.make<guarded>("data");
  auto& got = s.make<std::array<bool, 2>>("got");
  for (std::size_t i = 0; i < 2; ++i) {
    s.thread(i == 0 ? "one" : "another", be_known,
             [&, i] { got[i] = try_write_under(lock, data); });
  }
  s.finally([&] {
    expect(got[0] || got[1], "nobody is inside and both were refused");
    expect_all_given_back(lock);
  });
}

// Tries, from outside, while a reader is inside.
void expect_writer_refused(rwlock& lock) {
  expect(unit::try_lock(lock) == unit::busy, "a writer passed over a reader");
}

void expect_reader_admitted(rwlock& lock) {
  expect(unit::try_lock_shared(lock) == unit::acquired,
         "a reader was refused and no writer was inside");
  unit::unlock_shared(lock);
}

}  // namespace

SCENARIO(try_two_writers, "of two writers that try at a free lock one gets it", effort::small) {
  two_writers_try(s, ordinary_lock(s));
}

SCENARIO(try_two_writers_at_a_biased_lock,
         "of two writers that try at a lock with bias and without readers one gets it",
         effort::small) {
  two_writers_try(s, once_biased_lock(s));
}

SCENARIO(try_reader_against_claim,
         "a reader that tries is not refused for a claim that comes to nothing", effort::small) {
  auto& lock = once_biased_lock(s);
  hold_while_draining(lock);
  s.thread("writer", be_known, [&] { expect_writer_refused(lock); });
  s.thread("reader", be_known, [&] { expect_reader_admitted(lock); });
  release_at_the_end(s, lock);
}

SCENARIO(try_reader_against_revocation,
         "a reader that tries is not refused for a revocation that comes to nothing",
         effort::small) {
  auto& lock = once_biased_lock(s);
  hold_while_dormant(lock);
  s.thread("writer", be_known, [&] { expect_writer_refused(lock); });
  s.thread("reader", be_dormant, [&] { expect_reader_admitted(lock); });
  release_at_the_end(s, lock);
}

namespace {

// The last writer of a lock without bias was told at once, and somebody inside may give the bias.
rwlock& lock_last_granted(scenario& s) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  lock.grant.store(rwlock::granted, platform::relaxed);
  return lock;
}

bool sees_claim(const rwlock& lock) {
  return (lock.state.load(platform::relaxed) & rwlock::writing) != 0;
}

// For a thread that holds the lock.
void give_bias_and_leave(rwlock& lock) {
  settle_account(lock, {});
  unit::unlock_shared(lock);
}

// The same: has another hold meanwhile if a writer is about to know that it cannot get the lock.
void try_again_if_claimed(rwlock& lock) {
  if (sees_claim(lock)) {
    expect(unit::try_lock_shared(lock) == unit::acquired,
           "a reader inside was refused another hold");
    unit::unlock_shared(lock);
  }
  unit::unlock_shared(lock);
}

}  // namespace

SCENARIO(try_again_inside_claimed_by_giver,
         "a reader inside that tries again is not refused for a claim of who gave the bias",
         effort::small) {
  auto& lock = lock_last_granted(s);
  hold_actively(lock);
  s.thread(
      "giver", [&] { hold_actively(lock); },
      [&] {
        give_bias_and_leave(lock);
        expect_writer_refused(lock);
      });
  s.thread("reader", [&] { hold_actively(lock); }, [&] { try_again_if_claimed(lock); });
  release_at_the_end(s, lock);
}

SCENARIO(try_again_inside_claimed_by_third,
         "a reader inside that tries again is not refused for a claim that follows on the bias",
         effort::small) {
  auto& lock = lock_last_granted(s);
  hold_actively(lock);
  s.thread("giver", [&] { hold_actively(lock); }, [&] { give_bias_and_leave(lock); });
  s.thread("writer", be_known, [&] {
    if (unit::is_biased(lock)) expect_writer_refused(lock);
  });
  s.thread("reader", [&] { hold_actively(lock); }, [&] { try_again_if_claimed(lock); });
  release_at_the_end(s, lock);
}

SCENARIO(try_upgrade_claimed_by_giver,
         "the only reader is not refused an upgrade for a claim of who gave the bias",
         effort::small) {
  auto& lock = lock_last_granted(s);
  s.thread(
      "giver", [&] { hold_actively(lock); },
      [&] {
        give_bias_and_leave(lock);
        if (unit::try_lock(lock) == unit::acquired) unit::unlock(lock);
      });
  s.thread(
      "reader", [&] { hold_actively(lock); },
      [&] {
        if (!sees_claim(lock)) {
          unit::unlock_shared(lock);
          return;
        }
        expect(unit::try_upgrade(lock) == unit::acquired,
               "the only reader could not upgrade at once");
        unit::unlock(lock);
      });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(try_after_claim_backed_out,
         "a writer that needs no consensus finds the reader whom the one before it has met",
         effort::small) {
  auto& lock = once_biased_lock(s);
  // Another writer that waits, and plays no part: so the lock stays without bias.
  lock.state.fetch_add(rwlock::one_writer, platform::relaxed);
  auto& data = s.make<guarded>("data");
  auto& tried = s.make<signal>("tried");
  s.thread("second", be_known, [&] {
    if ((lock.state.load(platform::relaxed) & rwlock::draining) != 0) try_write_under(lock, data);
    tried.give();
  });
  s.thread("reader", be_online, [&] {
    if (!try_lock_shared_passive(lock, my_record())) return;
    go_offline(my_record());
    data.read();
    tried.await();
    unit::unlock_shared(lock);
  });
  s.thread("first", be_known, [&] {
    if (unit::try_lock(lock) == unit::acquired) unit::unlock(lock);
  });
  s.finally([&] {
    lock.state.fetch_sub(rwlock::one_writer, platform::relaxed);
    expect_all_given_back(lock);
  });
}

SCENARIO(try_again_too_late,
         "a reader that comes too late for its second section has its first one behind it",
         effort::small) {
  auto& lock = once_biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_passively(lock); },
      [&] {
        finish_reading(lock, data);
        if (try_lock_shared_passive(lock, my_record())) unit::unlock_shared(lock);
      });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
