// SPDX-License-Identifier: Apache-2.0
// Per-CPU: a PF-Q lock for each CPU; a reader takes one, a writer takes all.
//
// Source: BRAVO 5, "Per-CPU"; it is Linux's brlock with another lock in each place.
//
// A reader takes the lock of its CPU for reading. A writer takes all of them for writing, in order,
// so that two writers never have half of them each. Readers of different CPUs write different
// lines, and a writer pays for each CPU there is.
//
// Simplified: "its CPU" is the thread's place (home.hpp), so that unlock finds it without a token.
//
// Reader: one read-modify-write to lock, one to unlock, on its place's line. Writer: six per place.
// Preference: by turns, at each place. Recursive read locks: no. Size: 16 bytes and a line per CPU.
// Waiting: each on a line of its own.
#pragma once

#include "rivals/lock_per_place.hpp"
#include "rivals/pf_q.hpp"

namespace rivals {

class per_cpu_lock : public lock_per_place<pf_q> {};

}  // namespace rivals
