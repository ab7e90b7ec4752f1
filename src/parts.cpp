// SPDX-License-Identifier: Apache-2.0
// The parts that every build of the library has, in the order in which their hooks are called. The
// only file that knows all rooms; parts that a program may do without add themselves (add_part).
//
// When a thread registers: the registry takes a record; where locks are observed its first note is
// taken; the lock clears marks of moved holds; read sections mark it if misuse is looked for, or a
// tool is there; the registry makes it the thread's.
//
// When a thread exits, for each of its records:
//   on_exit        observers of locks hear the last of the thread; the lock counts passive holds in
//                  their locks and clears notes of active ones; read sections left open end; added
//                  parts (reclamation settles its account)
//   the registry   goes offline, wakes threads that wait for a hold or a section, takes the
//                  record away from the thread
//   on_departure   the lock forgets its counts of holds; statistics take the thread's cells back
//   the registry   frees the record for another thread
//
// In a fork's child:
//   in_child       the check of locks forgets other threads; the lock settles the holds, claims and
//                  waits of threads that no longer exist;
//                  read sections and grace periods forget them; so do trials of the bias; the
//                  registry frees their records; statistics start from nothing; added parts
#include "threads/parts.hpp"

#include "lock/holds.hpp"

namespace readmost::detail {

extern part observation_part;    // src/lock/observation.cpp
extern part holds_part;          // src/lock/orphaned_holds.cpp
extern part read_sections_part;  // src/rcu/read_section.cpp
extern part grace_periods_part;  // src/rcu/grace_period.cpp
extern part bias_trial_part;     // src/lock/bias_trial.cpp
extern part registry_part;       // src/threads/registry.cpp
extern part statistics_part;     // src/statistics/statistics.cpp

part* const standing_parts[] = {&closed_at_fork<moving_gate>,
                                &observation_part,
                                &holds_part,
                                &read_sections_part,
                                &grace_periods_part,
                                &bias_trial_part,
                                &registry_part,
                                &statistics_part,
                                nullptr};

}  // namespace readmost::detail
