// SPDX-License-Identifier: Apache-2.0
// Operations that only try wait for no thread but one that is about to decide, and fail only if
// they have to.
#include <array>

#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

void two_writers_try(scenario& s, lock_scene& on) {
  auto& got = s.make<std::array<bool, 2>>("got");
  s.thread("one", be_known, [&] { got[0] = on.try_write(); });
  s.thread("another", be_known, [&] { got[1] = on.try_write(); });
  s.finally([&] {
    expect(got[0] || got[1], "no thread is inside, but both writers were refused");
    expect_all_given_back(on.lock);
  });
}

void expect_writer_refused(rwlock& lock) {
  expect(test::try_lock(lock) == test::busy, "a writer ignored a reader");
}

void expect_reader_admitted(rwlock& lock) {
  expect(test::try_lock_shared(lock) == test::acquired,
         "a reader was refused, but no writer was inside");
  test::unlock_shared(lock);
}

// A writer and a reader that try while the main thread is inside by `hold`.
void reader_tries_beside_writer(scenario& s, void (*hold)(rwlock&), void (*reader_is)()) {
  auto& on = once_biased_scene(s);
  hold(on.lock);
  on.thread("writer", be_known, expect_writer_refused)
      .thread("reader", reader_is, expect_reader_admitted);
  release_at_the_end(s, on.lock);
}

}  // namespace

SCENARIO(try_two_writers, "one of two writers that try a free lock gets it", effort::small) {
  two_writers_try(s, ordinary_scene(s));
}

SCENARIO(try_two_writers_at_a_biased_lock,
         "one of two writers that try a biased lock without readers gets it", effort::small) {
  two_writers_try(s, once_biased_scene(s));
}

SCENARIO(try_reader_against_claim,
         "a reader that tries is not refused because of a claim that fails", effort::small) {
  reader_tries_beside_writer(s, hold_while_draining, be_known);
}

SCENARIO(try_reader_against_revocation,
         "a reader that tries is not refused because of a revocation that fails", effort::small) {
  reader_tries_beside_writer(s, hold_while_dormant, be_dormant);
}

namespace {

bool sees_claim(const rwlock& lock) {
  return (lock.state.load(platform::relaxed) & rwlock::claiming) != 0;
}

// For a thread that holds the lock.
void give_bias_and_leave(rwlock& lock) {
  update_account(lock, {});
  test::unlock_shared(lock);
}

// For a thread that holds the lock: takes another hold if a writer is about to find out that it
// cannot have the lock.
void try_again_if_claimed(rwlock& lock) {
  if (sees_claim(lock)) {
    expect(test::try_lock_shared(lock) == test::acquired,
           "a reader inside was refused another hold");
    test::unlock_shared(lock);
  }
  test::unlock_shared(lock);
}

}  // namespace

SCENARIO(try_again_inside_claimed_by_giver,
         "a reader inside that tries again is not refused because of a claim by the bias giver",
         effort::small) {
  auto& on = unbiased_scene(s);
  hold_actively(on.lock);
  on.thread("giver", hold_actively, [](rwlock& lock) {
    give_bias_and_leave(lock);
    expect_writer_refused(lock);
  });
  on.thread("reader", hold_actively, try_again_if_claimed);
  release_at_the_end(s, on.lock);
}

SCENARIO(try_again_inside_claimed_by_third,
         "a reader inside that tries again is not refused because of a claim that follows the bias",
         effort::small) {
  auto& on = unbiased_scene(s);
  hold_actively(on.lock);
  on.thread("giver", hold_actively, give_bias_and_leave);
  on.thread("writer", be_known, [](rwlock& lock) {
    if (test::is_biased(lock)) expect_writer_refused(lock);
  });
  on.thread("reader", hold_actively, try_again_if_claimed);
  release_at_the_end(s, on.lock);
}

SCENARIO(try_after_claim_backed_out,
         "a writer that needs no consensus finds the reader that the writer before it has found",
         effort::small) {
  auto& on = once_biased_scene(s);
  // A second writer waits, as far as the lock knows, so the lock stays without bias.
  on.lock.state.fetch_add(rwlock::one_writer, platform::relaxed);
  auto& tried = s.make<signal>("tried");
  s.thread("second", be_known, [&] {
    if ((on.lock.state.load(platform::relaxed) & rwlock::draining) != 0) on.try_write();
    tried.give();
  });
  s.thread("reader", be_online, [&] {
    if (!test::try_lock_shared_passively(on.lock)) return;
    go_offline(my_record());
    on.data.read();
    tried.await();
    test::unlock_shared(on.lock);
  });
  s.thread("first", be_known, [&] {
    if (test::try_lock(on.lock) == test::acquired) test::unlock(on.lock);
  });
  s.finally([&] {
    on.lock.state.fetch_sub(rwlock::one_writer, platform::relaxed);
    expect_all_given_back(on.lock);
  });
}

SCENARIO(try_reader_enters_during_claim,
         "a reader that enters while a writer checks for holds and the writer are never inside at "
         "once",
         effort::small) {
  biased_scene(s).add_trying_reader("reader", be_dormant).add_trying_writer();
}

SCENARIO(two_try_readers_during_claim,
         "a writer finds two readers that enter while it checks for holds", effort::large) {
  biased_scene(s)
      .add_trying_reader("reader", be_dormant)
      .add_trying_reader("other reader", be_dormant)
      .add_writer();
}

SCENARIO(try_again_too_late,
         "a writer sees the first section of a reader that comes too late for a second one",
         effort::small) {
  auto& on = once_biased_scene(s);
  on.thread("reader", hold_passively, [&] {
    on.finish_reading();
    if (test::try_lock_shared_passively(on.lock)) test::unlock_shared(on.lock);
  });
  on.add_trying_writer();
}

}  // namespace readmost::model
