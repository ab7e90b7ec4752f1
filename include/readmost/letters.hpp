// Every memory order stronger than relaxed and every fence of the lock and of consensus has a
// letter, by which the source, docs/memory-ordering.md and the model checker name it. Statistics
// have none: they decide nothing. This list is the only one: the table in the documentation is made
// from it.
//
// A digit tells the members of a family apart: one action that takes several steps, or the same
// action elsewhere. A letter may stand at several places only where these do the same to the same
// variable. There is no I, nor X, which is the macro's.
#pragma once

// X(letter, "function: what it is", "its partners on the other side")
#define READMOST_LETTERS(X)                                                                      \
  /* A passive reader enters and leaves. */                                                      \
  X(A, "publish_and_look: release store of the hold into the slot",                              \
    "K, by way of B; L, when it reads this instead of the D before it")                          \
  X(A1, "lock_shared_actively: release store, the note of an active hold",                       \
    "L, T2, when they read this instead of the D before it")                                     \
  X(A2, "try_unlock_shared_active: release store that takes the note off", "as A1")              \
  X(A3, "note_active_hold: release store, the note of an active hold", "as A1")                  \
  X(A4, "take_off_record: release store that takes the note off", "as A1")                       \
  X(A5, "upgrade_at_once: release store that takes the note off", "as A1")                       \
  X(A6, "forget_notes: release store that takes the note off at a thread's exit", "as A1")       \
  X(B, "publish_and_look: light fence, A before C", "whatever makes it a full one: H, E or F")   \
  X(C, "publish_and_look: acquire load of the state, then load of the own mode",                 \
    "M, M1, by way of M3 where a reader gave the bias")                                          \
  X(D, "release_passive_hold: release store that clears the slot", "L, T2")                      \
  X(D1, "release_passive_hold: light fence, D before the load of the version",                   \
    "O3, which makes it a full one")                                                             \
  X(D2, "take_back: release store that clears the slot of a reader that came too late",          \
    "L, when it reads this instead of the D before it")                                          \
  /* A thread reports, comes online, goes offline. */                                            \
  X(E1, "report: acquire load of the version, before the look at the own slots", "K1")           \
  X(E2, "report: release store of `seen`", "L4")                                                 \
  X(F, "come_online: full fence, index and mode before the next look at any lock", "K1")         \
  X(Q, "go_offline: release compare-and-swap, online to dormant", "L1, L3, T1")                  \
  /* A writer claims the lock, reaches consensus, looks who is inside. */                        \
  X(K, "claim: acquire compare-and-swap, bias gone and `writing` set",                           \
    "M, M1, M2, P, P1; with K1, A by way of B, and F")                                           \
  X(K1,                                                                                          \
    "reach_consensus: full fence, K before the version is raised and before the loads of index " \
    "and modes",                                                                                 \
    "E1, F")                                                                                     \
  X(K2, "claim: acquire load of the state, active readers after slots", "P, P1")                 \
  X(H, "fence_stragglers: heavy fence, K and `leaving` before L and `dormant`",                  \
    "B of every thread")                                                                         \
  X(L, "passive_holds: acquire load of a slot", "D, A, D2, U3")                                  \
  X(L1, "is_straggler: acquire load of a mode", "Q; H")                                          \
  X(L3, "reach_consensus: acquire load of a mode, whether anybody is online", "Q; H")            \
  X(L4, "passive_holds: acquire load of `seen`, whether the slots need no look", "E2")           \
  /* Others enter. */                                                                            \
  X(J1, "lock_shared_actively: acquire compare-and-swap, one reader more", "M, M1")              \
  X(J2, "lock_shared_slow: acquire compare-and-swap, one reader more", "M, M1")                  \
  X(J3, "lock_exclusive: acquire compare-and-swap of a lock that is free", "M, M1, P, P1")       \
  X(J4, "acquire: acquire compare-and-swap of a writer that need not claim", "M, M1, P, P1")     \
  /* Others leave, or open the door. */                                                          \
  X(M, "stop_writing: release compare-and-swap, `writing` gone",                                 \
    "C, K, and each acquiring compare-and-swap that enters: J1 to J4")                           \
  X(M1, "stop_writing: the same where nobody waits and nothing is given",                        \
    "K, J1 to J4; C by way of M3")                                                               \
  X(M2, "back_out: release compare-and-swap, a claim taken back",                                \
    "K of the next claim, which relies on this writer's consensus")                              \
  X(M3, "give_bias: release compare-and-swap, bias set after the grant is taken back",           \
    "V3, V4, which then look at the grant")                                                      \
  X(P, "unlock_shared_slow: release compare-and-swap, one active reader less",                   \
    "K, K2, J3, J4, U1")                                                                         \
  X(P1, "try_unlock_shared_active: release compare-and-swap, one active reader less",            \
    "K, K2, J3, J4, U1")                                                                         \
  /* A writer sleeps until a passive reader leaves. */                                           \
  X(N, "wake_drain_sleepers: release read-modify-write, `drain_epoch` raised", "O5")             \
  X(O3, "drain_sleep: heavy fence, announcement and version before the look at the slots",       \
    "D1 of every thread")                                                                        \
  X(O5, "epoch: acquire load of `drain_epoch`, before the look at the slots", "N")               \
  /* The registry: chunks of records, their owners, the index, domains. */                       \
  X(R3, "for_each_record, for_each_present, take_record: acquire load of a chunk's link", "R4")  \
  X(R4, "take_record: release compare-and-swap that appends a chunk", "R3")                      \
  X(R6, "take_from: acquire compare-and-swap that takes a record", "R7")                         \
  X(R7, "give_back: release read-modify-write that frees a record", "R6")                        \
  X(R8, "for_each_present: acquire load of the index", "T3; with K1, F")                         \
  X(R9, "lock_domain: acquire compare-and-swap that takes a number", "R10")                      \
  X(R10, "~lock_domain: release read-modify-write that frees a number", "R9")                    \
  /* Writers share membarriers. */                                                               \
  X(S1, "fence_all: release read-modify-write of `wanted`, a ticket",                            \
    "the heavy fence of whoever reads it")                                                       \
  X(S2, "fence_all: acquire load of `done`", "the heavy fence before the store of `done`")       \
  /* A round takes an idle record out of the index. */                                           \
  X(T1, "retire_if_idle: acquire compare-and-swap, dormant to retiring", "Q; H")                 \
  X(T2, "retire_if_idle: acquire load of a slot", "D")                                           \
  X(T3, "retire_if_idle: release read-modify-write, out of the index", "R8")                     \
  X(T4, "retire_if_idle: seq_cst store of the mode, after T3", "Z1, Z2")                         \
  /* Upgrades. */                                                                                \
  X(U1, "upgrade_at_once: acquire compare-and-swap of the only reader", "P, P1")                 \
  X(U3,                                                                                          \
    "mark_own_hold: release store, a passive hold becomes a note of an active one, after it is " \
    "counted",                                                                                   \
    "L")                                                                                         \
  /* Those who wait. */                                                                          \
  X(V3, "lock_shared_slow: acquire load of the state", "M, M2, M3")                              \
  X(V4, "acquire: acquire load of the state", "M, M2, M3")                                       \
  /* A thread exits with passive holds. */                                                       \
  X(Z1, "abandon: seq_cst store, the thread leaves its record with what it holds", "Z3, T4")     \
  X(Z2, "abandon: seq_cst load of the mode, whether a round has missed Z1", "T4")                \
  X(Z3, "give_back_if_abandoned: seq_cst compare-and-swap", "Z1")

namespace readmost {

enum class letter : unsigned char {
#define READMOST_LETTER(name, what, partners) name,
  READMOST_LETTERS(READMOST_LETTER)
#undef READMOST_LETTER
};

}  // namespace readmost
