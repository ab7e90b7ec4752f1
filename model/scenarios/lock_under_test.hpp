// SPDX-License-Identifier: Apache-2.0
// The library's lock as scenarios use it: how it is made, what threads do before a scenario begins,
// and what must hold at its end. Its operations are those of tests/support/surface.hpp, from which
// the public interfaces are built.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

#include "catalogue.hpp"
#include "support/surface.hpp"

namespace readmost::model {

using platform::variable;

inline constexpr rules writers_first{};
inline constexpr rules readers_first{.prefers = preference::reader};
inline constexpr rules in_turns{.prefers = preference::phase_fair};

// --- Locks -------------------------------------------------------------------------------------

// A lock that some thread has met already and whose slots are clean, with an account that lasts for
// the whole scenario.
rwlock& unbiased_lock(scenario& s, const char* name = "lock");
rwlock& biased_lock(scenario& s, const char* name = "lock");
// A biased lock whose holds go into the same slot of a reader as those of `other`.
rwlock& biased_lock_in_slot_of(scenario& s, const rwlock& other, const char* name);

// Empties the account, so that no thread gives the lock its bias.
rwlock& without_bias_to_come(rwlock& lock);
// Two such locks, on which no thread spins: one is never biased, the other is until a writer comes.
rwlock& ordinary_lock(scenario& s);
rwlock& once_biased_lock(scenario& s);

// --- What a thread does before the others start ------------------------------------------------

void be_online();       // registered, and able to lock passively
void be_known();        // registered
void be_dormant();      // registered, in the index, not able to lock passively
void be_long_idle();    // dormant, and the next round takes it out of the index
void seem_long_idle();  // the next round takes it out of the index, if it finds the thread dormant
// The thread's next active read settles the account of the lock that it reads.
void be_about_to_settle();

// These may also be called in a scenario's body; the main thread then holds the lock throughout.
void hold_passively(rwlock& lock);      // online
void hold_while_dormant(rwlock& lock);  // passively, but offline: a writer needs no consensus
void hold_while_long_idle(rwlock& lock);
void hold_actively(rwlock& lock);  // the lock is not biased
void hold_alone(rwlock& lock);     // for writing
// Holds passively, although the lock is ordinary or draining already, like a reader that a writer
// has found inside.
void hold_while_draining(rwlock& lock);

// Leaves the lock as a writer does that has found readers inside.
void make_draining(rwlock& lock);

// --- Data --------------------------------------------------------------------------------------

// What a lock protects. The checker finds two accesses at once of which one is a write.
class guarded {
 public:
  void read() const { (void)data_.get(); }
  void write() { ++data_; }
  std::uint32_t value() const { return data_.get(); }
  void set(std::uint32_t value) { data_ = value; }

 private:
  variable<std::uint32_t> data_{0};
};

// An event that one thread signals and others wait for.
class signal {
 public:
  void give() { given_.store(1, platform::release); }
  bool given() const { return given_.load(platform::acquire) != 0; }
  void await() const;

 private:
  platform::atomic<std::uint32_t> given_{0};
};

// --- Consensus ---------------------------------------------------------------------------------

// Reaches a consensus, like a writer that revokes the bias of another lock.
void run_round();

// Performs what the library does once per process, so that it is no part of the scenario.
void find_out_once();

// --- At the end --------------------------------------------------------------------------------

// Expects, after all threads have finished, that no thread is inside or counted as waiting, and
// that no finished thread has kept its record.
void expect_all_given_back(const rwlock& lock);
// That no thread is counted as sleeping until a reader leaves.
void expect_no_sleepers(const domain& of);
// Fails if a finished thread has kept a record of this domain; calls check(record) for the others.
void expect_records_given_back(domain& of, void (*check)(const thread_record&));

// For the body: releases at the end what the main thread holds shared.
void release_at_the_end(scenario& s, rwlock& lock);

}  // namespace readmost::model
