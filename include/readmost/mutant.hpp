// Deliberate defects, one per build (-DREADMOST_MUTANT=name), to prove that the tests can fail.
// Without that definition every question below is answered `false` at compile time.
#pragma once

namespace readmost {

enum class mutant {
  none,
  no_membarrier,           // stragglers are taken to have seen what they have not
  report_while_holding,    // a report claims to hold nothing without looking
  check_before_publish,    // the passive reader looks at the lock, then publishes its hold
  skip_consensus,          // the writer clears the bias and looks into the slots at once
  forget_active_readers,   // the writer waits for passive readers only
  forget_passive_readers,  // the writer waits for active readers only
  lost_wakeup,             // the releasing writer wakes nobody
  lost_drain_wakeup,       // the last passive reader does not wake the sleeping writer
  silent_waiters,          // a writer that gives up leaves the door closed behind it
  online_without_fence,    // a dormant thread locks passively without coming online
  exit_drops_holds,        // a thread's read holds vanish with it
  forgetful_relay,         // a woken reader does not wake the others of its CPU
  handoff_over_readers,    // a waiting writer takes over from a writer although readers are inside
  upgrade_over_readers,    // an upgrade does not wait for the other readers
  upgrade_lets_go,         // an upgrade releases the read hold, then locks for writing
  upgraders_both_wait,     // an upgrade waits for another one, which waits for it
  lost_upgrader_wakeup,    // the last other reader does not wake the sleeping upgrader
  one_upgrader_woken,      // of several that wait for a claim to be decided one hears of it
  silent_conversion,       // a passive hold becomes an active one, unknown to who sleeps over it
  downgrade_uncounted,     // a downgrade opens the door and leaves no hold
  turn_ignored,            // a writer goes in although it is the turn of the readers
  counted_for_ever,        // a reader that gives up remains counted as waiting
  silent_back_out,         // a reader inside that met a claim does not hear that it is undone
  wrong_domain,            // a writer asks the threads of the process's domain, whatever its lock's
  stale_notes,             // a hold that another thread releases stays noted with its owner
  idle_for_ever,           // no record is taken out of the index
  fork_keeps_waiters,      // threads that are no more go on waiting in a fork's child
};

#if defined(READMOST_MUTANT)
inline constexpr mutant built_mutant = mutant::READMOST_MUTANT;
#else
inline constexpr mutant built_mutant = mutant::none;
#endif

constexpr bool is_mutant(mutant defect) noexcept {
  return built_mutant == defect;
}

// Defects that let a reader decide on what it saw before its hold was visible. On TSO a store may
// stay in the store buffer for as long as no fence drains it, but in practice it is gone within
// nanoseconds; so the readers of these mutants publish late, and the window is wide enough to hit.
constexpr bool publishes_late() noexcept {
  return is_mutant(mutant::no_membarrier) || is_mutant(mutant::check_before_publish) ||
         is_mutant(mutant::skip_consensus) || is_mutant(mutant::online_without_fence);
}

}  // namespace readmost
