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
#define READMOST_LETTERS(X)                                                                       \
  /* A passive reader enters and leaves. */                                                       \
  X(A, "publish_and_look: release store of the hold into the slot",                               \
    "K, by way of B; L, when it reads this instead of the D before it")                           \
  X(B, "publish_and_look: light fence, A before C", "whatever makes it a full one: H, E or F")    \
  X(C, "publish_and_look: acquire load of the state, then load of the own mode",                  \
    "M, M1, by way of M3 where a reader gave the bias")                                           \
  X(D, "release_passive_hold: release store that clears the slot", "L, T2")                       \
  X(D1, "release_passive_hold: light fence, D before the load of the version",                    \
    "O3, which makes it a full one")                                                              \
  X(D2, "take_back: release store that clears the slot of a reader that came too late",           \
    "L, when it reads this instead of the D before it")                                           \
  /* A thread reports, comes online, goes offline. */                                             \
  X(E1, "report: acquire load of the version, before the look at the own slots", "G")             \
  X(E2, "report: release store of `seen`", "L2, L4")                                              \
  X(F, "come_online: full fence, index and mode before the next look at any lock", "K1")          \
  X(F1, "come_online: seq_cst read-modify-write, into the index", "R8")                           \
  X(F2, "come_online: seq_cst compare-and-swap, online", "L1, L3")                                \
  X(Q, "go_offline: release compare-and-swap, online to dormant", "L1, L3, T1")                   \
  /* A writer claims the lock, reaches consensus, looks who is inside. */                         \
  X(K, "claim: seq_cst compare-and-swap, bias gone and `writing` set",                            \
    "A, by way of B; E and F by way of G and K1; acquires M, M1, M2, P, P1")                      \
  X(K1, "reach_consensus: full fence, K before the loads of index and modes", "F")                \
  X(K2, "claim: acquire load of the state, active readers after slots", "P, P1, Z1, U2")          \
  X(G, "reach_consensus: seq_cst read-modify-write, version raised after K", "E1")                \
  X(H, "fence_stragglers: heavy fence, K and `leaving` before L and `dormant`",                   \
    "B of every thread")                                                                          \
  X(H1, "fence_stragglers: release compare-and-swap, leaving to dormant after H", "L1, L3, T1")   \
  X(L, "passive_holds: acquire load of a slot", "D, A, D2, Z2, U3")                               \
  X(L1, "is_straggler: acquire load of a mode", "Q, H1")                                          \
  X(L2, "has_seen: acquire load of `seen`", "E2")                                                 \
  X(L3, "reach_consensus: acquire load of a mode, whether anybody is online", "Q, H1")            \
  X(L4, "passive_holds: acquire load of `seen`, whether the slots need no look", "E2")            \
  /* Others enter. */                                                                             \
  X(J1, "lock_shared_actively: acquire compare-and-swap, one reader more", "M, M1")               \
  X(J2, "lock_shared_slow: acquire compare-and-swap, one reader more", "M, M1")                   \
  X(J3, "lock_exclusive: acquire compare-and-swap of a lock that is free", "M, M1, P, P1")        \
  X(J4, "acquire: acquire compare-and-swap of a writer that need not claim", "M, M1, P, P1")      \
  /* Others leave, or open the door. */                                                           \
  X(M, "stop_writing: release compare-and-swap, `writing` gone",                                  \
    "C, K, and each acquiring compare-and-swap that enters: J1 to J4")                            \
  X(M1, "stop_writing: the same where nobody waits and nothing is given",                         \
    "K, J1 to J4; C by way of M3")                                                                \
  X(M2, "back_out: release compare-and-swap, a claim taken back",                                 \
    "K of the next claim, which relies on this writer's consensus")                               \
  X(M3, "give_bias: release compare-and-swap, bias set after the grant is taken back",            \
    "V3, V4, which then look at the grant")                                                       \
  X(P, "unlock_shared_slow: release compare-and-swap, one active reader less",                    \
    "K, K2, J3, J4, U1")                                                                          \
  X(P1, "try_unlock_shared_active: release compare-and-swap, one active reader less",             \
    "K, K2, J3, J4, U1")                                                                          \
  /* A writer sleeps until a passive reader leaves. */                                            \
  X(N, "report_after_unlock: full fence, slot cleared before the load of `drain_sleepers`",       \
    "O1, O3")                                                                                     \
  X(N1, "wake_drain_sleepers: seq_cst load of `drain_sleepers`", "O1")                            \
  X(N2, "wake_drain_sleepers: seq_cst read-modify-write, `drain_epoch` raised", "O5")             \
  X(O1, "drain_sleep: seq_cst read-modify-write, `drain_sleepers` raised", "N, N1, Z3")           \
  X(O2, "drain_sleep: seq_cst read-modify-write, version raised after O1",                        \
    "the load of the version after D1")                                                           \
  X(O3, "drain_sleep: heavy fence, O1 and O2 before the look at the slots",                       \
    "D1 of every thread, N")                                                                      \
  X(O4, "~drain_sleep: seq_cst read-modify-write, `drain_sleepers` lowered", "N1")                \
  X(O5, "epoch: seq_cst load of `drain_epoch`, before the look at the slots", "N2")               \
  /* The registry: chunks of records, their owners, the index, domains. */                        \
  X(R1, "for_each_record, for_each_present, take_record: acquire load of the first chunk", "R2")  \
  X(R2, "lock_domain: release store of the first chunk", "R1")                                    \
  X(R3, "for_each_record, for_each_present, take_record: acquire load of a chunk's link", "R4")   \
  X(R4, "take_record: acq_rel compare-and-swap that appends a chunk", "R3")                       \
  X(R5, "for_each_record: acquire load of the records in use", "R7")                              \
  X(R6, "take_from: acquire compare-and-swap that takes a record", "R7")                          \
  X(R7, "give_back: release read-modify-write that frees a record", "R5, R6")                     \
  X(R8, "for_each_present: seq_cst load of the index", "F1, T3")                                  \
  X(R9, "lock_domain: acquire compare-and-swap that takes a number", "R10")                       \
  X(R10, "~lock_domain: release read-modify-write that frees a number", "R9")                     \
  /* Writers share membarriers. */                                                                \
  X(S1, "fence_all: seq_cst read-modify-write of `wanted`, a ticket", "S4")                       \
  X(S2, "fence_all: acquire load of `done`", "S5")                                                \
  X(S3, "fence_all: acquire exchange of `in_flight`", "S6")                                       \
  X(S4, "fence_all: seq_cst load of `wanted`, before the fence", "S1")                            \
  X(S5, "fence_all: release store of `done`, after the fence", "S2")                              \
  X(S6, "fence_all: release store of `in_flight`", "S3")                                          \
  X(S7, "forbid_passive: seq_cst store, nobody comes online any more",                            \
    "none: who misses it is fenced in vain once more")                                            \
  /* A round takes an idle record out of the index. */                                            \
  X(T1, "retire_if_idle: acquire compare-and-swap, dormant to retiring", "Q, H1")                 \
  X(T2, "retire_if_idle: acquire load of a slot", "D")                                            \
  X(T3, "retire_if_idle: seq_cst read-modify-write, out of the index", "R8")                      \
  X(T4, "retire_if_idle: release store of the mode, after T3", "T5")                              \
  X(T5, "come_online: acquire load of the own mode, before F1", "T4")                             \
  /* Upgrades. */                                                                                 \
  X(U1, "upgrade_at_once: acquire compare-and-swap of the only reader", "P, P1")                  \
  X(U2, "count_own_hold: acq_rel read-modify-write, one active reader more", "K2")                \
  X(U3, "mark_own_hold: release store, a passive hold becomes a note of an active one, after U2", \
    "L")                                                                                          \
  /* Those who wait. */                                                                           \
  X(V1, "sleep_as_reader: seq_cst read-modify-write, `asleep` raised", "V2")                      \
  X(V2, "sleep_as_reader: seq_cst read-modify-write, `asleep` lowered", "V1")                     \
  X(V3, "lock_shared_slow: acquire load of the state", "K, M, M2, M3")                            \
  X(V4, "acquire: acquire load of the state", "K, M, M2, M3")                                     \
  X(V5, "is_drained: acquire load of the state", "K, M2, M3")                                     \
  X(W1, "enter: release store of the grant, the claim is decided", "W2, W3")                      \
  X(W2, "awaits_decision: acquire load of the grant", "W1")                                       \
  X(W3, "lock_shared_slow: acquire load of the grant", "W1")                                      \
  /* Holds that their owners will not release. */                                                 \
  X(Y, "erase_passive_holds: acq_rel compare-and-swap that clears a slot", "A, L")                \
  X(Y1, "settle_before_reuse: acquire load of the state", "M, M2, M3")                            \
  X(Z1, "make_holds_active: acq_rel read-modify-write, one active reader more", "K2")             \
  X(Z2, "make_holds_active: release store that clears the slot, after Z1", "L")                   \
  X(Z3, "on_thread_exit: full fence, Z2 before the load of `drain_sleepers`", "O1, O3")

namespace readmost {

enum class letter : unsigned char {
#define READMOST_LETTER(name, what, partners) name,
  READMOST_LETTERS(READMOST_LETTER)
#undef READMOST_LETTER
};

}  // namespace readmost
