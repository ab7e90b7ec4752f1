// SPDX-License-Identifier: Apache-2.0
// Mutants: deliberate defects, which prove that the tests and the checker can fail. The shipped
// library has none of them: every question below is answered `false` at compile time. A build with
// READMOST_FAULTS, for tests and the checker, has all of them and chooses one at run time.
//
// A defect of one expression asks is_mutant() in place. One that reorders statements or needs more
// of them is a second definition of a small function, in tests/mutants/; READMOST_VARIANT picks it.
#pragma once

// X(name, "what is wrong")
#define READMOST_MUTANTS(X)                                                                       \
  X(no_membarrier, "stragglers count as fenced although no membarrier has run")                   \
  X(report_while_holding, "a report claims that the thread holds nothing, without looking")       \
  X(check_before_publish, "a passive reader looks at the lock, then publishes its hold")          \
  X(skip_consensus, "a writer clears the bias and scans the slots at once")                       \
  X(forget_active_readers, "a writer waits for passive readers only")                             \
  X(forget_passive_readers, "a writer waits for active readers only")                             \
  X(lost_wakeup, "a writer that unlocks wakes no waiter")                                         \
  X(lost_drain_wakeup, "the last passive reader does not wake the sleeping writer")               \
  X(silent_waiters, "a writer that gives up stays counted as waiting and wakes no one")           \
  X(online_without_fence, "a dormant thread locks passively without coming online")               \
  X(exit_drops_holds, "a thread's read holds vanish when it exits")                               \
  X(forgetful_relay, "a woken reader does not wake the other readers of its CPU")                 \
  X(handoff_over_readers, "a writer that has slept takes the lock although readers are inside")   \
  X(upgrade_over_readers, "an upgrade does not wait for the other readers")                       \
  X(upgrade_lets_go, "an upgrade releases the read hold, then locks for writing")                 \
  X(upgraders_both_wait, "an upgrade waits for another upgrade, which waits for it")              \
  X(lost_upgrader_wakeup, "the last other reader does not wake the sleeping upgrader")            \
  X(one_upgrader_woken, "of several threads that wait for a claim's decision only one is woken")  \
  X(silent_conversion, "a passive hold becomes active without waking writers that sleep over it") \
  X(downgrade_uncounted, "a downgrade unlocks and leaves no read hold")                           \
  X(phase_ignored, "a writer enters although it is the readers' phase")                           \
  X(phase_open_to_all, "a reader that is not counted uses a phase whose end writers wait for")    \
  X(counted_for_ever, "a reader that gives up stays counted as waiting")                          \
  X(handoff_ignored, "a writer that has not slept enters before one that has asked to be next")   \
  X(upgrade_of_two_holds, "an upgrade ignores a second hold of the caller")                       \
  X(noted_until_met, "a second first reader notes a hold whose unlock leaves the note")           \
  X(wrong_domain, "a writer asks the threads of the default domain, whatever the lock's domain")  \
  X(idle_for_ever, "no record is ever taken out of the index")                                    \
  X(alone_before_claim, "a lone writer looks for others, then claims the lock")                   \
  X(fork_keeps_waiters, "threads that do not exist in a fork's child stay counted as waiting")    \
  X(no_grace_period, "rcu_synchronize waits for no reader")                                       \
  X(grace_period_of_past, "a grace period that began before the call counts for the caller")      \
  X(forgets_a_queue, "collecting retired objects leaves the last queue for later")                \
  X(forgets_nesting, "an inner unlock ends the outer section")                                    \
  X(unzips_at_once, "a growing hash map does not wait for readers between two steps")             \
  X(hazards_forgotten, "a scan reclaims objects that hazard pointers protect")                    \
  X(erases_unmarked, "an object taken out of an id table is not marked obsolete")                 \
  X(ids_come_back, "the next object in a slot of an id table has the id of the last one")         \
  X(one_pass, "a scan leaves what its deleters retire to the next")                               \
  X(bravo_without_scan, "a revocation scans no slots")                                            \
  X(bravo_scans_newest_alone, "a revocation scans the newest array of slots only")                \
  X(bravo_forgets_nesting, "an inner unlock of a slot ends the outer section")                    \
  X(locks_obsolete, "an existence lock is given although its object is obsolete")                 \
  X(stalls_ignored, "an update begins although a reader holds updates off")                       \
  /* The rest is for the checker alone: no test could hit it by chance. */                        \
  X(bravo_without_recheck, "a visible reader does not check the bias after publishing")           \
  X(bravo_blocks_recursion,                                                                       \
    "a thread that holds a lock through a slot blocks when it locks it again")                    \
  X(bravo_bias_without_hold, "a reader sets the bias before it holds the lock")                   \
  X(bravo_bias_while_barred, "a reader sets the bias while a writer is revoking it")              \
  X(bravo_mode_unchecked, "a reader with slots of its own does not check its own mode")           \
  X(bravo_without_consensus, "a revocation scans own slots without consensus")                    \
  X(one_version_too_few, "a report of the previous version counts as one of the present version") \
  X(counts_moved_holds, "an exiting thread counts a hold that was moved to the count meanwhile")  \
  X(moves_without_fence, "holds are moved before their owners are sure to notice")                \
  X(release_of_moved_hold_lost, "an owner that clears a moved hold's slot leaves it counted")     \
  X(withdrawn_move_counted, "a hold that its owner released during the move stays counted")       \
  X(own_lock_as_shared, "a lock that a thread uses alone is credited as one that many read")      \
  X(bias_left_behind, "a writer that follows one that took the bias away does not give it back")  \
  X(passed_writes_debited, "writes that follow one another cost the lock a revocation each")      \
  X(phase_without_bias, "phase-fair readers that got their turn are active while a writer waits") \
  X(absent_in_the_index, "a thread that stays away from a lock keeps its record in the index")    \
  X(company_unheeded, "a thread stays away from a lock of which two get more done than one")      \
  X(yields_to_preferred_readers, "a writer hands its time slices to preferred readers")           \
  X(yields_again_at_once, "a writer yields at once again to readers that keep the CPU for long")  \
  X(trial_without_verdict,                                                                        \
    "locks keep their usual bias although their threads got more done with fences")               \
  X(fences_for_ever, "a lock that is only read keeps its fences when the trial is over")          \
  X(bias_over_old_slots, "a lock is biased although slots have holds of an earlier lock there")   \
  X(handler_takes_off_first_note,                                                                 \
    "a handler's release clears the note of the hold it interrupted")                             \
  X(parks_behind_asker, "a writer that finds only the next one missing says that writers sleep")  \
  X(last_wakes_nobody, "the last reader leaves it to others to wake those that sleep")            \
  X(mode_not_rechecked, "a passive reader does not check its own mode after publishing")          \
  X(dormant_at_once, "a straggler counts as dormant before the membarrier has run")               \
  X(dormant_by_one_look,                                                                          \
    "a straggler that is switched out counts as dormant without a second look at the note")       \
  X(believes_what_is_left, "a note is believed although the kernel takes it back no more")        \
  X(note_taken_back_late, "the kernel takes the note of a switch back without a fence")           \
  X(section_after_mode, "a reader checks its own mode, then publishes its section")               \
  X(unlists_sections, "a round takes a record out of the index during its read section")          \
  X(one_phase, "a grace period waits for the counted sections of the present phase only")         \
  X(counted_is_enough, "a section that is counted at a deeper nesting is not waited for")         \
  X(taken_for_reached,                                                                            \
    "the next leader of a polled grace period assumes that consensus is reached")                 \
  X(silent_leader, "a thread that stops leading a grace period wakes no waiter")                  \
  X(silent_executor, "a thread that stops reclaiming does not wake the next one")                 \
  X(replaced_goes_on, "an executor that has been replaced in a deleter takes the next object")    \
  X(barrier_forgets_the_replaced,                                                                 \
    "a barrier does not wait for the deleter of a replaced executor")                             \
  X(ends_before_the_replaced, "a domain ends before the deleter of a replaced executor has")      \
  X(nested_barrier_publishes, "a barrier in a deleter reports that everything is reclaimed")      \
  X(lazy_for_all, "a reclaimer that gathers objects is not woken for a barrier")                  \
  X(woken_before_its_end, "a retiring thread overlooks that the reclaimer has just ended")        \
  X(woken_is_awake, "a reclaimer does not sleep on after a wake-up for an earlier sleep")         \
  X(settles_holders, "the report for a chunk passes threads that hold something")                 \
  X(settled_for_ever, "the report for a chunk counts for later versions, too")                    \
  X(unlists_holders, "a round takes a record out of the index without checking its slots")        \
  X(online_before_index, "a thread comes online, then enters the index")                          \
  X(counts_before_slots, "a writer reads the active count, then scans the slots")                 \
  X(unreported_retract, "a reader that published too late wakes no writer that saw its hold")     \
  X(epoch_read_late, "a writer scans the slots, then reads the epoch to sleep on")                \
  X(scan_without_consensus, "a scan for hazard pointers runs without consensus")                  \
  X(hazard_after_validation, "a hazard pointer loads the source, then publishes")                 \
  X(hazard_without_mode, "a thread that publishes a hazard pointer does not check its own mode")  \
  X(fenced_hold_without_fence,                                                                    \
    "a thread that cannot come online publishes a passive hold without a fence")                  \
  X(fenced_while_unlisted,                                                                        \
    "a fenced hold counts although a round has taken the thread's record out of the index")       \
  X(hazard_without_fence,                                                                         \
    "a thread that cannot come online publishes a hazard pointer without a fence")                \
  X(consensus_before_lists, "a scan reaches consensus, then takes the retired objects")           \
  X(hazard_reclaimer_ends_blindly, "the hazard reclaimer ends without a last look at the lists")  \
  X(scan_keeps_unmarked,                                                                          \
    "a thread that scans without having retired does not mark the list of what it keeps")         \
  X(splices_at_once, "a list splice does not wait for the readers of the other list")             \
  X(pops_without_section, "a stack's pop protects neither the top nor itself from reuse")         \
  X(changes_newer_table_alone, "writers forget the older table of a hash map that is resized")    \
  X(forgets_sibling_chain, "an erased element stays on the chain that shares its end")            \
  X(leaves_fresh_pair_zipped, "chains that an insertion joins while a map grows stay joined")     \
  X(waits_without_reference,                                                                      \
    "a thread that waits for the lock of an object in an id table does not keep the object")      \
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
