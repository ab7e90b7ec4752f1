// SPDX-License-Identifier: Apache-2.0
// Hazard slots: a thread publishes there the object that it is about to use, and a thread that
// reclaims reads them. The classes are in hazard_pointer.hpp, the algorithm in
// src/rcu/hazard_pointer.cpp.
#pragma once

#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/rcu/retired.hpp>

namespace readmost::detail {

struct hazard_block;

// One hazard pointer publishes here the object that it protects. Type-stable: never unmapped. It
// belongs to the hazard pointer and not to a thread, so both may move between threads.
struct alignas(platform::cache_line) hazard_slot {
  platform::atomic<const retired*> object{};
  platform::variable<hazard_block*> in_block{};
  platform::variable<hazard_slot*> before{};  // while a batch is made
};

// When a thread that retires scans: as soon as so much waits over all threads, or when the last
// scan is that long ago.
struct hazard_backlog_limit {
  std::uint64_t objects = 128;
  std::uint64_t bytes = 1024 * 1024;
  std::uint64_t nanoseconds = 1'000'000'000;
};

// Returns null when there is no memory.
hazard_slot* take_hazard_slot() noexcept;
// Precondition: the slot is clear.
void give_back_hazard_slot(hazard_slot& slot) noexcept;

// Makes the slot that the calling thread has just published visible to scans: reports, comes
// online, or executes a full fence.
[[gnu::noinline, gnu::cold]] void confirm_protection() noexcept;

// Hands an object over, to be reclaimed once no slot names it. May run deleters.
void retire_hazardous(retired& object, const retired_kind& kind) noexcept;

// Extension: sets the limits. Any thread may call it at any time.
void hazard_pointer_limit_backlog(hazard_backlog_limit limit) noexcept;

// Extension: who runs deleters, from now on; at first reclaiming::in_place. Any thread may call it
// at any time.
void hazard_pointer_reclaim_by(reclaiming who) noexcept;

// Extension: reclaims the objects that any thread has retired before and no hazard pointer
// protects, except those that other threads are reclaiming; also what its deleters retire. Does
// nothing inside a deleter. Runs a round of consensus, which takes one
// membarrier(2) at most, and another for each time that deleters have retired something.
void hazard_pointer_clean_up() noexcept;

inline void unpublish(hazard_slot& slot) noexcept {
  // (HP4) Pairs with (HP7): a scan that finds the slot clear happens after the use of the object.
  slot.object.store(nullptr, at(letter::HP4, platform::release));
}

// The object is protected if its source still points to it when the caller checks afterwards.
inline void publish(hazard_slot& slot, const retired* object) noexcept {
  const thread_record& me = my_record();
  // (HP1) As (HP4), for the object that the slot protected before.
  slot.object.store(object, at(letter::HP1, platform::release));
  // (HP2) Light fence: the slot is stored before the mode and, in the caller, the source are read.
  // Made a full one by the heavy fence (H) in consensus.cpp, by a report (E1, E2) or by coming
  // online (F), whichever the scan relied on.
  platform::light_fence(letter::HP2);
  const bool online = is_online(me) || is_mutant(mutant::hazard_without_mode);
  // The version is reported, whether as holding something or not.
  const bool reported =
      (default_domain.version.load(platform::relaxed) ^ me.seen.load(platform::relaxed)) <= 1;
  if (!online || !reported) [[unlikely]] {
    confirm_protection();
  }
}

}  // namespace readmost::detail
