// Moves passive holds to the lock's count, where another thread can release them.
//
// POSIX forbids a thread to release the read hold of another, but programs do it, and a passive
// hold is in a slot that only its owner clears. An unlock that finds neither a hold of the caller
// nor one in the count therefore makes the lock active for good: it takes the bias away, lets no
// new passive hold come, and moves the existing ones.
//
// The owner of a hold may be about to release it by a plain store, which nothing stops. The thread
// that moves the hold first raises the domain's version and runs a membarrier. A release before
// that is visible. A release after it finds the new version, which no report of the owner satisfies
// while its slots are in use (they are odd), and so ends in after_passive_release(), where the two
// agree through `moved`:
//   the mover    counts the hold, announces that there, and replaces the slot's content by the tag
//                moved_hold
//   the owner    has cleared the slot and looks for an announcement
// One of them notices the other, perhaps both: the mover that the hold is gone, the owner that it
// is counted. Whoever withdraws the announcement takes the hold off the count. An owner that finds
// the tag in place of its hold releases a counted one. The tag and its announcement stay until the
// owner needs the slot, sleeps, or exits.
#include "lock/decision.hpp"
#include "lock/holds.hpp"
#include "lock/waking.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

constinit gate moving_gate;

namespace {

void take_off_announced(rwlock& lock, platform::atomic<std::uintptr_t>& announced) noexcept {
  std::uintptr_t found = address(lock);
  // (MV6) Pairs with (MV5): the hold is counted.
  if (announced.compare_exchange_strong(found, 0, at(letter::MV6, platform::acquire),
                                        platform::relaxed)) {
    release_counted_hold(lock);
  }
}

void move_hold(rwlock& lock, thread_record& owner, std::size_t i) noexcept {
  std::uintptr_t held = address(lock);
  auto& slot = passive_slot(owner, i);
  // (MV3) As (L): if the hold is released, that happens before the claim ends.
  if (slot.load(at(letter::MV3, platform::acquire)) != held) return;
  lock.state.fetch_add(rwlock::one_reader, platform::relaxed);
  // (MV5) Pairs with (MV6).
  owner.moved[i].store(held, at(letter::MV5, platform::release));
  // (MV1) Pairs with (MV2): either the owner finds the announcement, or this thread finds the slot
  // clear. And with (MV4) in holds.cpp.
  platform::full_fence(letter::MV1);
  if (!slot.compare_exchange_strong(held, held | moved_hold, at(letter::MV3, platform::acquire)) &&
      !is_mutant(mutant::withdrawn_move_counted)) {
    take_off_announced(lock, owner.moved[i]);
  }
}

}  // namespace

bool move_holds_to_count(rwlock& lock) noexcept {
  thread_record& record = my_record(lock.domain);
  thread_record* const me = &record == &unregistered ? nullptr : &record;
  lock.traits.fetch_or(rwlock::never_biased, platform::relaxed);
  constexpr std::uint64_t with_passive_holds = rwlock::any_bias | rwlock::draining;
  const bool is_handler_of_claimant = is_deciding(me, lock);
  const decision pending(me, lock);
  for (std::uint64_t state = lock.state.load(platform::relaxed);;) {
    if (rwlock::readers(state) != 0) return true;
    if ((state & rwlock::claiming) != 0) {
      if (is_handler_of_claimant) return false;
      platform::yield();
      state = lock.state.load(platform::relaxed);
      continue;
    }
    if ((state & with_passive_holds) == 0) return false;
    if (lock.state.compare_exchange_weak(state, (state & ~with_passive_holds) | rwlock::claiming,
                                         platform::relaxed, platform::relaxed)) {
      break;
    }
  }
  domain& d = domains[lock.domain];
  // Meanwhile the process does not fork, and no other thread moves holds: it could announce another
  // lock in the same place. Unless that takes too long, as in a signal handler that interrupts a
  // fork.
  const bool alone = moving_gate.try_close();
  if (!is_mutant(mutant::moves_without_fence)) make_releases_report(d);
  for_each_present(d, [&](thread_record& owner) {
    for (std::size_t i = 0; i < passive_slots; ++i) move_hold(lock, owner, i);
    return true;
  });
  if (alone) moving_gate.open();
  // Release as (M2), though the caller's release of a counted hold (P) follows. A thread that would
  // give the bias sees that the lock gets none.
  open_door(lock, preference::reader, platform::release,
            [](std::uint64_t now) { return now & ~rwlock::claiming; });
  // None of the holds that writers wait for is passive now.
  wake_drain_sleepers(d, &lock);
  return true;
}

void after_passive_release(const rwlock& lock, thread_record& me) noexcept {
  if (&me == &unregistered) return;
  report_after_release(me, &lock);
  // (MV2) Pairs with (MV1).
  platform::full_fence(letter::MV2);
  for (std::size_t i = 0; i < passive_slots; ++i) {
    if (me.moved[i].load(platform::relaxed) == address(lock) &&
        passive_slot(me, i).load(platform::relaxed) == 0 &&
        !is_mutant(mutant::release_of_moved_hold_lost)) {
      take_off_announced(const_cast<rwlock&>(lock), me.moved[i]);
    }
  }
}

}  // namespace readmost::detail
