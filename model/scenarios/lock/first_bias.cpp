// SPDX-License-Identifier: Apache-2.0
// The first threads to use a lock; and before its first bias the slots are cleared of holds of an
// earlier lock at the same address.
#include "lock/holds.hpp"
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

// A lock whose slots are not known to be clean.
lock_scene& reused_scene(scenario& s) {
  auto& on = unbiased_scene(s);
  on.lock.traits.store(rwlock::met | rwlock::private_memory, platform::relaxed);
  return on;
}

// The thread's record has a hold that an earlier lock has left, which nobody will release.
void have_stale_hold(rwlock& lock) {
  be_dormant();
  my_record().held[home_slot(&lock)].store(address(lock), platform::relaxed);
}

void read_when_account_is_due(lock_scene& on) {
  test::lock_shared(on.lock);
  on.finish_reading();
}

void be_online_and_due() {
  be_online();
  be_about_to_settle();
}

}  // namespace

SCENARIO(first_readers_leave_no_note,
         "of two threads that use a lock first, whose holds are not noted, none leaves a note",
         effort::small) {
  auto& on = unbiased_scene(s);
  on.lock.traits.store(0, platform::relaxed);
  on.lock.state.store(0, platform::relaxed);
  const auto read = [](lock_scene& on) {
    rules how = readers_first;
    how.noted = false;
    on.read(how);
    const thread_record& me = my_record();
    expect(noted_holds_of(me, on.lock) == 0 && me.unnoted == 0, "a hold's note is left");
  };
  on.thread("first reader", be_known, read);
  on.thread("other first reader", be_known, read);
}

SCENARIO(stale_hold_before_first_bias, "a hold of an earlier lock keeps no writer out",
         effort::small) {
  auto& on = reused_scene(s);
  have_stale_hold(on.lock);
  on.thread("giver", be_online_and_due, read_when_account_is_due);
  on.add_writer();
}

SCENARIO(stale_hold_and_two_givers,
         "of two threads that would give the first bias none clears a hold of the other",
         effort::medium) {
  auto& on = reused_scene(s);
  have_stale_hold(on.lock);
  on.thread("giver", be_online_and_due, read_when_account_is_due);
  on.thread("other giver", be_online_and_due, read_when_account_is_due);
}

SCENARIO(stale_hold_two_givers_and_writer,
         "a passive reader by the first bias and a writer are never inside at once",
         effort::large) {
  auto& on = reused_scene(s);
  have_stale_hold(on.lock);
  const auto read_twice = [](lock_scene& on) {
    read_when_account_is_due(on);
    on.try_read_passively();
  };
  on.thread("giver", be_online_and_due, read_twice);
  on.thread("other giver", be_online_and_due, read_twice);
  on.add_trying_writer();
}

SCENARIO(clean_by_one_and_biased_by_another,
         "a writer that finds the lock biased finds its slots clean, whoever has cleared them",
         effort::medium) {
  auto& on = reused_scene(s);
  have_stale_hold(on.lock);
  const auto settle = [](rwlock& lock) {
    update_account(lock, {});
    test::unlock_shared(lock);
  };
  on.thread("cleaner", hold_actively, settle);
  on.thread("giver", hold_actively, settle);
  on.thread("writer", be_known, [](rwlock& lock) {
    const std::uint64_t state = lock.state.load(platform::relaxed);
    if ((state & rwlock::biased) == 0 || rwlock::readers(state) != 0) return;
    expect(test::try_lock(lock) == test::acquired, "a hold of an earlier lock keeps a writer out");
    test::unlock(lock);
  });
}

}  // namespace readmost::model
