// Mutants: deliberate defects, which prove that the tests and the checker can fail. The shipped
// library has none of them: every question below is answered `false` at compile time. A build with
// READMOST_FAULTS, for tests and the checker, has all of them and chooses one at run time.
//
// A defect of one expression asks is_mutant() in place. One that reorders statements or needs more
// of them is a second definition of a small function, in tests/mutants/; READMOST_VARIANT picks it.
#pragma once

// X(name, "what is wrong")
#define READMOST_MUTANTS(X)                                                                        \
  X(no_membarrier, "stragglers are taken to have seen what they have not")                         \
  X(report_while_holding, "a report claims to hold nothing without looking")                       \
  X(check_before_publish, "the passive reader looks at the lock, then publishes its hold")         \
  X(skip_consensus, "the writer clears the bias and looks into the slots at once")                 \
  X(forget_active_readers, "the writer waits for passive readers only")                            \
  X(forget_passive_readers, "the writer waits for active readers only")                            \
  X(lost_wakeup, "the releasing writer wakes nobody")                                              \
  X(lost_drain_wakeup, "the last passive reader does not wake the sleeping writer")                \
  X(silent_waiters, "a writer that gives up leaves the door closed behind it")                     \
  X(online_without_fence, "a dormant thread locks passively without coming online")                \
  X(exit_drops_holds, "a thread's read holds vanish with it")                                      \
  X(forgetful_relay, "a woken reader does not wake the others of its CPU")                         \
  X(handoff_over_readers, "a waiting writer takes over from a writer although readers are inside") \
  X(upgrade_over_readers, "an upgrade does not wait for the other readers")                        \
  X(upgrade_lets_go, "an upgrade releases the read hold, then locks for writing")                  \
  X(upgraders_both_wait, "an upgrade waits for another one, which waits for it")                   \
  X(lost_upgrader_wakeup, "the last other reader does not wake the sleeping upgrader")             \
  X(one_upgrader_woken, "of several that wait for a claim to be decided one hears of it")          \
  X(silent_conversion, "a passive hold becomes an active one, unknown to who sleeps over it")      \
  X(downgrade_uncounted, "a downgrade opens the door and leaves no hold")                          \
  X(turn_ignored, "a writer goes in although it is the turn of the readers")                       \
  X(counted_for_ever, "a reader that gives up remains counted as waiting")                         \
  X(silent_back_out, "a reader inside that met a claim does not hear that it is undone")           \
  X(wrong_domain, "a writer asks the threads of the process's domain, whatever its lock's")        \
  X(stale_notes, "a hold that another thread releases stays noted with its owner")                 \
  X(idle_for_ever, "no record is taken out of the index")                                          \
  X(fork_keeps_waiters, "threads that are no more go on waiting in a fork's child")                \
  X(no_grace_period, "rcu_synchronize waits for nobody")                                           \
  X(grace_period_of_past, "a grace period that began before the call counts for the caller")       \
  X(forgets_a_queue, "whoever collects what was retired leaves the last queue for later")          \
  X(forgets_nesting, "an inner unlock ends the outer section")                                     \
  X(unzips_at_once, "a hash map that grows does not wait for readers between two steps")           \
  X(hazards_forgotten, "what is retired is reclaimed whether a hazard pointer protects it or not") \
  X(bravo_without_scan, "who takes the bias away looks at no slot")                                \
  X(bravo_scans_newest_alone, "who takes the bias away looks at the newest slots only")            \
  X(bravo_forgets_nesting, "an inner unlock of a slot ends the outer section")                     \
  /* The rest is for the checker alone: no test could hit it by chance. */                         \
  X(bravo_without_recheck, "a visible reader does not look again whether the bias is set")         \
  X(bravo_blocks_recursion, "who holds a lock through a slot waits when it locks it again")        \
  X(bravo_bias_without_hold, "a reader sets the bias before it holds the lock")                    \
  X(bravo_bias_while_barred, "a reader sets the bias although a writer is just taking it away")    \
  X(bravo_mode_unchecked, "a reader with slots of its own does not look at its own mode")          \
  X(bravo_without_consensus, "who takes the bias away looks at own slots without asking readers")  \
  X(one_version_too_few, "a report of the version before the present one is taken for one of it")  \
  X(counts_settled_holds, "an exiting thread counts a hold that was released for it meanwhile")    \
  X(settles_what_was_seen, "a writer settles debts by a count of holds that may have moved")       \
  X(mode_not_rechecked, "the passive reader does not look at its own mode after publishing")       \
  X(dormant_at_once, "a straggler counts as dormant before the membarrier has run")                \
  X(section_after_mode, "a read section is published after the look at the own mode")              \
  X(retires_sections, "a round takes a record out of the index that is inside a read section")     \
  X(one_phase, "a grace period waits for the counted sections of the present phase only")          \
  X(counted_is_enough, "a section that is counted at a deeper nesting is not looked at")           \
  X(taken_for_reached, "who takes over a polled grace period takes its consensus for reached")     \
  X(silent_leader, "who leads a grace period no more wakes nobody")                                \
  X(silent_executor, "who reclaims no more does not wake who waits to do so")                      \
  X(nested_barrier_publishes, "a barrier in a deleter tells others that everything is reclaimed")  \
  X(woken_is_awake, "a reclaimer that is woken too late does not go back to sleep")                \
  X(retires_holders, "a round takes a record out of the index without looking into its slots")     \
  X(online_before_index, "a thread comes online and enters the index afterwards")                  \
  X(counts_before_slots, "the writer reads the active count before it scans the slots")            \
  X(clears_before_count, "a passive hold is cleared first and counted afterwards")                 \
  X(unreported_retract, "a reader that came too late does not wake who took it for a hold")        \
  X(epoch_read_late, "a writer looks at the slots, then remembers what to sleep on")               \
  X(scan_without_consensus, "what hazard pointers protect is looked up without asking readers")    \
  X(hazard_after_validation, "a hazard pointer looks at the source, then publishes")               \
  X(hazard_without_mode, "who publishes a hazard does not look at its own mode")                   \
  X(hazard_without_fence, "who cannot come online publishes a hazard without a fence")             \
  X(consensus_before_lists, "a scan takes what is retired after it has asked readers")             \
  X(foreign_fence_trusted, "a membarrier serves writers that asked while it ran")

namespace readmost::detail {

enum class mutant {
  none,
#define READMOST_MUTANT_NAME(name, what) name,
  READMOST_MUTANTS(READMOST_MUTANT_NAME)
#undef READMOST_MUTANT_NAME
};

#if defined(READMOST_FAULTS)

inline mutant chosen_mutant = mutant::none;
// In native tests: a mutant that widens the window in which the chosen one shows.
inline mutant widening_mutant = mutant::none;

inline bool is_mutant(mutant defect) noexcept {
  return chosen_mutant == defect || widening_mutant == defect;
}

// `shipped`, or `mutated` in a run with that mutant: two expressions of one type.
#define READMOST_VARIANT(name, shipped, mutated) \
  (::readmost::detail::is_mutant(::readmost::detail::mutant::name) ? (mutated) : (shipped))

#else

[[gnu::always_inline]] constexpr bool is_mutant(mutant) noexcept {
  return false;
}

#define READMOST_VARIANT(name, shipped, mutated) (shipped)

#endif

}  // namespace readmost::detail
