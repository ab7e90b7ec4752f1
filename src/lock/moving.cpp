// SPDX-License-Identifier: Apache-2.0
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
//   the mover    counts the hold, announces the move there, replaces the slot's content by the tag
//                moved_hold, and completes the announcement
//   the owner    has cleared the slot. It withdraws an announcement that is not complete: then the
//                mover takes the hold off the count again. It finds a complete one only if its
//                store came last: then the hold is counted, and it releases it there.
// An owner that finds the tag does nothing: the hold is counted. The slot and its announcement stay
// as they are until the announcement is complete and the owner needs the slot, sleeps, or exits.
#include "lock/decision.hpp"
#include "lock/holds.hpp"
#include "lock/waking.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

constinit gate moving_gate;

namespace {

// While in scope the process does not fork, and no other thread moves holds: it could announce
// another lock in the same place. Unless that takes too long, as in a signal handler that
// interrupts a fork.
class moving_alone {
 public:
  moving_alone() noexcept : closed_(moving_gate.try_close()) {}
  ~moving_alone() {
    if (closed_) moving_gate.open();
  }
  moving_alone(const moving_alone&) = delete;
  moving_alone& operator=(const moving_alone&) = delete;

 private:
  bool closed_;
};

void move_hold(rwlock& lock, thread_record& owner, platform::atomic<std::uintptr_t>& slot,
               std::size_t index) noexcept {
  auto& announced = owner.moved[index];
  const std::uintptr_t incomplete = address(lock) | moved_hold;
  lock.state.fetch_add(rwlock::one_reader, platform::relaxed);
  announced.store(incomplete, platform::relaxed);
  // (MV1) Pairs with (MV2): either the owner finds the announcement, or this thread finds the slot
  // clear. And with (MV4) in holds.cpp.
  platform::full_fence(letter::MV1);
  std::uintptr_t expected = address(lock);
  // (MV3) As below.
  const bool replaced =
      slot.compare_exchange_strong(expected, incomplete, at(letter::MV3, platform::acquire));
  std::uintptr_t then = incomplete;
  const bool complete =
      // (MV5) Pairs with (MV2): the section of an owner that has withdrawn the announcement
      // happens before the claim ends.
      announced.compare_exchange_strong(then, replaced ? address(lock) : 0,
                                        at(letter::MV5, platform::acquire));
  // The caller holds the lock itself, by the hold that it is about to release: not the last one.
  if (is_mutant(mutant::withdrawn_move_counted)) return;
  if (!replaced || !complete) lock.state.fetch_sub(rwlock::one_reader, platform::relaxed);
}

}  // namespace

bool move_holds_to_count(rwlock& lock) noexcept {
  thread_record* const me = my_record_or_null(lock.domain);
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
  {
    const moving_alone meanwhile;
    if (!is_mutant(mutant::moves_without_fence)) make_releases_report(d);
    for_each_present(d, [&](thread_record& owner) {
      for_each_slot(owner, [&](auto& slot, std::size_t index) {
        // (MV3) As (L): if the hold is released, that happens before the claim ends.
        if (slot.load(at(letter::MV3, platform::acquire)) == address(lock)) {
          move_hold(lock, owner, slot, index);
        }
        return true;
      });
      return true;
    });
  }
  // Release as (M2), though the caller's release of a counted hold (P) follows. A thread that would
  // give the bias sees that the lock gets none.
  open_door(lock, preference::reader, platform::release,
            [](std::uint64_t now) { return now & ~rwlock::claiming; });
  // None of the holds that writers wait for is passive now.
  wake_drain_sleepers(d, &lock);
  return true;
}

void after_passive_release(const rwlock& lock, thread_record& me, std::size_t index) noexcept {
  if (&me == &unregistered) return;
  report_after_release(me, &lock);
  // (MV2) Pairs with (MV1).
  platform::full_fence(letter::MV2);
  auto& announced = me.moved[index];
  std::uintptr_t found = announced.load(platform::relaxed);
  if (found == (address(lock) | moved_hold) &&
      // (MV2) Pairs with (MV5), too.
      announced.compare_exchange_strong(found, 0, platform::relaxed)) {
    return;
  }
  if (found != address(lock) || is_mutant(mutant::release_of_moved_hold_lost)) return;
  announced.store(0, platform::relaxed);
  release_counted_hold(const_cast<rwlock&>(lock));
}

}  // namespace readmost::detail
