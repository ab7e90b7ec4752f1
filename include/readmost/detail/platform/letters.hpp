// SPDX-License-Identifier: Apache-2.0
// Every memory order stronger than relaxed and every fence of the lock, of consensus and of RCU has
// a letter, by which the source, docs/memory-ordering.md and the model checker name it. Statistics
// have none, because nothing depends on them. The tables of the documentation are generated from
// this list.
//
// A digit distinguishes the members of a family: the steps of one action, or the same action in
// several places. One letter stands in several places only if they do the same to the same
// variable. There is no I, and no X, which names the macro.
#pragma once

// X(letter, "function: what it is", "its partners on the other side")
#define READMOST_LETTERS(X)                                                                      \
  /* A passive reader enters and leaves. */                                                      \
  X(A, "publish_and_look: release store of the hold into the slot",                              \
    "K, by way of B; L, when it reads this instead of the D before it")                          \
  X(B, "publish_and_look: light fence, A before C", "whatever makes it a full one: H, E or F")   \
  X(C, "publish_and_look: acquire load of the state, then load of the own mode", "M, M1")        \
  X(D, "release_slot, count_holds: release store or compare-and-swap that clears the slot",      \
    "L, T2")                                                                                     \
  X(D1, "release_passive_hold: light fence, D before the load of the version",                   \
    "O3, which makes it a full one")                                                             \
  X(D2, "take_back: release store that clears the slot of a reader that came too late",          \
    "L, when it reads this instead of the D before it")                                          \
  X(D3, "lower_nested: release store of the height of the stack", "L2")                          \
  /* A thread reports, comes online, goes offline. */                                            \
  X(E1, "report_as: acquire load of the version, before the look at the own slots", "K1")        \
  X(E2, "report_as: release store of `seen`", "L4, G5, HP6, BR17, CR1")                          \
  X(F, "come_online: full fence, index and mode before the next look at any lock", "K1")         \
  X(F2, "publish_with_fence: full fence, the hold before the loads of mode and state", "K1, T1") \
  X(Q, "go_offline: release compare-and-swap, online to dormant", "L1, L3, T1")                  \
  /* A writer claims the lock, reaches consensus, checks for readers inside. */                  \
  X(K,                                                                                           \
    "candidate, lock_exclusive_alone: acquire load of the state, and compare-and-swap that "     \
    "claims the lock",                                                                           \
    "M, M1, M2; with K1, A by way of B, and F")                                                  \
  X(K1,                                                                                          \
    "begin_round, lock_exclusive_alone: full fence, K before the version is raised and before "  \
    "the loads of index and modes",                                                              \
    "E1, F, F1, F2, G6, HP3, SW2")                                                               \
  X(K2,                                                                                          \
    "decide, lock_exclusive_alone: acquire load of the state and compare-and-swap, readers in "  \
    "the count after slots",                                                                     \
    "P, P1")                                                                                     \
  X(H, "fence_stragglers: heavy fence, K and `leaving` before L and `dormant`",                  \
    "B of every thread")                                                                         \
  X(L, "passive_holds_in: acquire load of a slot", "D, A, D2")                                   \
  X(L2, "for_each_slot: acquire load of the height of the stack", "D3")                          \
  X(L1, "is_straggler: acquire load of a mode", "Q; H; SW5")                                     \
  X(L3, "begin_round: acquire load of a mode, whether anybody is online", "Q; H; SW5")           \
  X(L4, "passive_holds: acquire load of `seen`, whether the slots need no look", "E2")           \
  /* One thread reports for a chunk of records. */                                               \
  X(CR1, "find_settled: acquire load of `seen`, on behalf of rounds", "E2")                      \
  X(CR2, "report_for_chunk: release store of the settled records", "CR3")                        \
  X(CR3, "read_report: acquire load of the settled records", "CR2")                              \
  /* Others enter. */                                                                            \
  X(J1, "lock_shared_actively: acquire compare-and-swap, one reader more", "M, M1")              \
  X(J2, "reader::enter: acquire compare-and-swap, one reader more", "M, M1")                     \
  X(J3, "try_lock_exclusive_fast: acquire compare-and-swap of a lock that is free",              \
    "M, M1, P, P1")                                                                              \
  X(J4, "candidate::acquire: acquire compare-and-swap of a writer that need not claim",          \
    "M, M1, P, P1")                                                                              \
  /* Others leave, or open the door. */                                                          \
  X(M, "stop_writing, unlock_exclusive_with_bias: release compare-and-swap, `writing` gone",     \
    "C, K, and each acquiring compare-and-swap that enters: J1 to J4")                           \
  X(M1, "try_unlock_exclusive_fast: the same where nobody waits and nothing is given",           \
    "C, K, J1 to J4")                                                                            \
  X(M2, "back_out: release compare-and-swap, a claim taken back",                                \
    "K of the next claim, which relies on this writer's consensus")                              \
  X(P, "release_counted_hold: release compare-and-swap, one reader less", "K2, J3, J4, U1")      \
  X(P1, "try_unlock_shared_active: release compare-and-swap, one active reader less",            \
    "K2, J3, J4, U1")                                                                            \
  /* A writer sleeps until a passive reader leaves. */                                           \
  X(N, "wake_drain_sleepers: release read-modify-write of the epoch", "O5")                      \
  X(O1, "ask_who_releases: release read-modify-write of the version", "E1")                      \
  X(O3, "ask_who_releases: heavy fence, announcement and version before the look at the slots",  \
    "D1 of every thread")                                                                        \
  X(O5, "epoch: acquire load of the epoch, before the look at the slots", "N")                   \
  /* The registry: chunks of records, their owners, the index, domains. */                       \
  X(R3, "entry_walk, take_record: acquire load of a chunk's link", "R4")                         \
  X(R4, "append_chunk: release compare-and-swap that appends a chunk", "R3")                     \
  X(R6, "take_from: acquire compare-and-swap that takes a record", "R7")                         \
  X(R7, "give_back: release read-modify-write that frees a record", "R6, BR18")                  \
  X(R8, "present_walk, is_alone_in_index: acquire load of the index", "T3; with K1, F, F1")      \
  X(R9, "take_domain: acquire compare-and-swap that takes a number", "R10")                      \
  X(R10, "give_back_domain: release read-modify-write that frees a number", "R9")                \
  /* Writers share membarriers. */                                                               \
  X(S2, "fence_all: acquire load of `done`", "the heavy fence before the store of `done`")       \
  /* The kernel notes switches, by tools/scheduled/switches.bpf.c; rounds read the notes. */     \
  X(SW1, "switched_out (kernel): release exchange of the note", "SW3")                           \
  X(SW2, "switched_in (kernel): full fence, the note taken back before the thread runs again",   \
    "K1, SW4")                                                                                   \
  X(SW3, "says_switched_out: acquire load of the note", "SW1")                                   \
  X(SW4, "is_settled_by_note: full fence, `leaving` before the second look at the note", "SW2")  \
  X(SW5, "is_settled_by_note: release compare-and-swap, leaving to dormant", "L1, L3, T1")       \
  /* A round takes an idle record out of the index. */                                           \
  X(T1, "unlist: full fence, the mode before the slots", "F2; Q; Q1; H; SW5")                    \
  X(T2, "unlist: acquire load of a slot", "D")                                                   \
  X(T5, "unlist: acquire load of the section", "G2, G10")                                        \
  X(T3, "unlist: release read-modify-write, out of the index", "R8")                             \
  /* A reader of RCU enters and leaves; a grace period waits for it. */                          \
  X(G1,                                                                                          \
    "publish_section: light fence, the section before the load of the own mode and of all "      \
    "that is read inside",                                                                       \
    "whatever makes it a full one: H, E1 and E2, F or F1")                                       \
  X(G2, "leave_section: release store of the section", "G4, T5")                                 \
  X(G3, "leave_section, report_if_left: light fence, G2 before the load of the version",         \
    "O3, which makes it a full one")                                                             \
  X(G4, "is_inside_since: acquire load of a section", "G2, G10, G6")                             \
  X(G5, "is_inside_since: acquire load of `seen`, whether the section needs no look", "E2")      \
  X(F1, "stay_visible: full fence, index and section or hold before what is read next", "K1")    \
  X(Q1, "stay_visible: release compare-and-swap of the mode, section or hold before it", "T1")   \
  X(G6, "count_in: full fence, the count before what is read inside and before the mark of it",  \
    "K1, G4")                                                                                    \
  X(G8, "uncount: release read-modify-write, one counted section less", "G9")                    \
  X(G9, "is_counted_section_left: acquire load of a count", "G8")                                \
  X(G10, "abandon_sections: release store of a section left open at a thread's exit", "G4, T5")  \
  /* Grace periods are shared. */                                                                \
  X(W1,                                                                                          \
    "grace_period_from_now: full fence, what was unlinked before the look at the present "       \
    "grace period",                                                                              \
    "K1 of whoever leads the next one")                                                          \
  X(W2, "try_lead: acquire compare-and-swap, one thread leads", "W3, W4")                        \
  X(W3, "end_grace_period: release exchange, one grace period more", "W2, W5")                   \
  X(W4, "stop_leading: release read-modify-write, before the end of a grace period", "W2")       \
  X(W5, "is_over: acquire load of the grace periods", "W3")                                      \
  /* Retired objects. */                                                                         \
  X(Y1, "push: release compare-and-swap, the object in its queue", "Y2")                         \
  X(Y2, "append_oldest_first: acquire exchange, the queue taken", "Y1")                          \
  X(Y3, "try_execute: acquire compare-and-swap, one executor", "Y4")                             \
  X(Y4, "stop_executing: release exchange", "Y3")                                                \
  X(Y5, "append_queues: acquire exchange of the marks of queues", "Y6")                          \
  X(Y6, "schedule_as: release read-modify-write, the queue is marked", "Y5")                     \
  X(Y7, "tell_reclaimed: full fence, the number before the look for throttled threads",          \
    "the futex call in throttle")                                                                \
  X(Y8, "reclaim_all: acquire load of the barriers' number, before the queues", "Y9")            \
  X(Y9, "take_barrier: release read-modify-write, a barrier's number", "Y8")                     \
  X(Y10, "publish_barriers: release store, barriers that are done", "Y11")                       \
  X(Y11, "await_barrier: acquire load of the barriers that are done", "Y10")                     \
  X(Y12, "sleep_unless_needed: full fence, asleep before the look at queues and barriers",       \
    "Y13, Y14")                                                                                  \
  X(Y13, "schedule_as: full fence, the object in its queue before the look at the reclaimer",    \
    "Y12")                                                                                       \
  X(Y14, "take_barrier: full fence, the number before the look at the reclaimer", "Y12")         \
  X(Y15, "tell_reclaimed: release read-modify-write, something is reclaimed", "Y16")             \
  X(Y16, "throttle: acquire load of that, before the look at the account", "Y15")                \
  X(GT1, "gate::try_close: acquire exchange, the lists as whoever closed it last left them",     \
    "GT2")                                                                                       \
  X(GT2, "gate::open: release store", "GT1")                                                     \
  /* Hazard pointers. */                                                                         \
  X(HP1, "publish: release store of what is protected into the hazard slot",                     \
    "HP7, when it reads this instead of the HP4 before it")                                      \
  X(HP2, "publish: light fence, the slot before the loads of the own mode and of the source",    \
    "whatever makes it a full one: H, E or F")                                                   \
  X(HP3,                                                                                         \
    "confirm_protection: full fence of a thread that cannot come online, the slot before the "   \
    "load of the source",                                                                        \
    "K1")                                                                                        \
  X(HP4, "unpublish: release store that clears the slot", "HP7")                                 \
  X(HP5, "protect_and_load: acquire load of the source", "whoever put the object there")         \
  X(HP6, "make_protected_visible: acquire load of `seen`", "E2")                                 \
  X(HP7, "for_each_protected: acquire load of a slot", "HP4, HP1")                               \
  X(HP8, "for_each_protected: acquire load of which slots are taken", "HP10")                    \
  X(HP9, "take_from: acquire compare-and-swap that takes a slot", "HP10")                        \
  X(HP10, "free_slot: release read-modify-write, a slot is free", "HP8, HP9")                    \
  X(HP11, "newest_block: acquire load of the block of slots added last", "HP12")                 \
  X(HP12, "add_block: release compare-and-swap, one block of slots more", "HP11")                \
  X(HP13, "push: release compare-and-swap, an object on the list of retired ones", "HP14")       \
  X(HP14, "take_list: acquire exchange, the list of retired ones taken", "HP13")                 \
  X(HP15, "end_if_nothing_is_left: full fence, the end before the look at the lists", "HP16")    \
  X(HP16, "tell_hazard_reclaimer: full fence, the object on its list before the look",           \
    "HP15, HP17")                                                                                \
  X(HP17, "run_until_end: acquire load of the state, before a scan", "HP16")                     \
  /* Pointers and containers that readers of RCU share. */                                       \
  X(RP1, "rcu_dereference: acquire load of the pointer", "RP2 to RP4")                           \
  X(RP2, "rcu_assign_pointer: release store of the pointer", "RP1")                              \
  X(RP3, "exchange: acquiring and releasing exchange of the pointer",                            \
    "RP1; RP3 of the next writer")                                                               \
  X(RP4, "compare_exchange: release compare-and-swap of the pointer", "RP1, RP3")                \
  X(RL1, "follow: acquire load of a list's link", "RL2 to RL5")                                  \
  X(RL2, "link: release store of the link to a new element", "RL1")                              \
  X(RL3, "unlink: release store of the link that passes over an element", "RL1")                 \
  X(RL4, "replace: release store of the link to the element that takes over", "RL1")             \
  X(RL5, "splice: release store of the link to the first element moved", "RL1")                  \
  X(RF1, "follow: acquire load of a link of a list with a head of one pointer", "RF2 to RF4")    \
  X(RF2, "link_in: release store of the link to a new element", "RF1")                           \
  X(RF3, "unlink: release store of the link that passes over an element", "RF1")                 \
  X(RF4, "replace: release store of the link to the element that takes over", "RF1")             \
  X(RH1, "follow: acquire load of a hash chain's link", "RH2 to RH6")                            \
  X(RH2, "link_in: release store of the heads that lead to a new element", "RH1")                \
  X(RH3, "unlink: release store of the links that pass over an element", "RH1")                  \
  X(RH4, "replace: release store of the links to the element that takes over", "RH1")            \
  X(RH5, "unzip_step: release store of the link that passes over another bucket's elements",     \
    "RH1")                                                                                       \
  X(RH6, "join: release store of the link from one bucket's chain to the other's", "RH1")        \
  X(RH7, "present: acquire load of the table", "RH8")                                            \
  X(RH8, "publish: release store of the table", "RH7")                                           \
  X(RT1, "present: acquire load of an id table's array of slots", "RT2")                         \
  X(RT2, "replace_by: release store of the array", "RT1")                                        \
  X(RT3, "follow: acquire load of a slot", "RT4")                                                \
  X(RT4, "insert: release store of the slot", "RT3")                                             \
  X(RT5, "drop: release read-modify-write, one reference less",                                  \
    "RT5 of whoever drops the last one")                                                         \
  X(RS1, "begin: acquire load of a stack's top", "RS2")                                          \
  X(RS2, "push: release compare-and-swap of the top, a new element", "RS1, RS3, RS4")            \
  X(RS3, "pop: acquire load of the top, also by the compare-and-swap", "RS2")                    \
  X(RS4, "clear: acquire exchange, all elements taken", "RS2")                                   \
  X(RV1, "number_at_rest: acquire load of the version number, before the data is read", "RV4")   \
  X(RV2, "is_still: acquire fence, the data before the second load of the number", "RV3")        \
  X(RV3, "begin_update: release fence, the odd number before the data is written", "RV2")        \
  X(RV4, "end_update: release store of the even number", "RV1")                                  \
  /* Locks made of others (bravo.hpp), and their table of readers. */                            \
  X(BR1, "publish, nest_elsewhere: acquire compare-and-swap that takes a slot",                  \
    "BR7, BR4 of the slot's last reader")                                                        \
  X(BR2, "publish: full fence, the slot before the look at the bias", "BR9")                     \
  X(BR3, "may_stay: acquire load of the bias", "BR8, BR11, BR12")                                \
  X(BR4, "publish: release store that clears the slot of a reader that came too late",           \
    "BR10, when it reads this instead of the BR7 before it, and BR1")                            \
  X(BR5, "publish, nest: release store, one hold more in the slot",                              \
    "BR10, when it reads this instead of the BR7 before it")                                     \
  X(BR6, "unnest: release store, one hold less in the slot", "as BR5")                           \
  X(BR7, "unnest: release store that clears the slot", "BR10, BR1")                              \
  X(BR8, "consider_bias: release store or compare-and-swap, bias set by a reader", "BR3")        \
  X(BR9, "await_departures: full fence, the bias gone before the look at the slots", "BR2")      \
  X(BR10, "find_hold, are_free: acquire load of a slot", "BR7, BR4, BR5, BR6, BR15")             \
  X(BR11, "revoke, enter_alone: release store, bias set again by a writer that gives up", "BR3") \
  X(BR12, "unlock: release store, bias set by a writer that leaves", "BR3")                      \
  X(BR13, "newest: acquire load of the newest array of slots", "BR14")                           \
  X(BR14, "grow_to: release compare-and-swap, one array of slots more", "BR13")                  \
  X(BR15, "publish: release store into a slot of the reader's own",                              \
    "BR10, when it reads this instead of the BR7 before it")                                     \
  X(BR16, "publish: light fence, BR15 before the loads of the bias and the own mode",            \
    "whatever makes it a full one: H, E or F")                                                   \
  X(BR17, "make_own_slots_visible: acquire load of `seen`", "E2")                                \
  X(BR18, "visit_own_slots: acquire load of which records belong to threads", "R7")              \
  X(BR19, "mutex: acquire read-modify-write that takes it", "BR20")                              \
  X(BR20, "mutex: release exchange that frees it", "BR19")                                       \
  /* Upgrades. */                                                                                \
  X(U1, "upgrade_at_once: acquire compare-and-swap of the only reader", "P, P1")                 \
  /* A lock gets its bias; holds move to the count. */                                           \
  X(MV1, "move_hold: full fence, the announcement before the look at the slot", "MV2, MV4")      \
  X(MV2, "after_passive_release: full fence, the slot before the look for a move", "MV1, MV5")   \
  X(MV3, "move_hold, move_holds_to_count: acquire load and compare-and-swap of a slot",          \
    "D, A, D2")                                                                                  \
  X(MV4, "clear_moved: acquire load of a slot whose hold has been moved", "MV1")                 \
  X(MV5, "move_hold: acquire compare-and-swap of the announcement", "MV2")

namespace readmost::detail {

enum class letter : unsigned char {
#define READMOST_LETTER(name, what, partners) name,
  READMOST_LETTERS(READMOST_LETTER)
#undef READMOST_LETTER
};

}  // namespace readmost::detail
