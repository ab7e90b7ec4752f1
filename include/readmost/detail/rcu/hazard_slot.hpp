// Hazard slots: how a thread says which object it is about to use, and how who reclaims objects
// finds out. See hazard_pointer.hpp for the classes, src/rcu/hazard_pointer.cpp for how.
#pragma once

#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/rcu/retired.hpp>

namespace readmost::detail {

struct hazard_block;

// Where one hazard pointer publishes what it protects. Type-stable: never unmapped. Belongs to the
// hazard pointer and not to a thread, so that it may move between threads.
struct alignas(platform::cache_line) hazard_slot {
  platform::atomic<const retired*> object{};
  platform::variable<hazard_block*> home{};
};

// Null when there is no memory.
hazard_slot* take_hazard_slot() noexcept;
// The slot is clear.
void give_back_hazard_slot(hazard_slot& slot) noexcept;

// Brings what the calling thread has just published to the eyes of scans: reports, comes online, or
// executes a full fence.
[[gnu::noinline, gnu::cold]] void confirm_protection() noexcept;

// Has the object reclaimed once no slot has it. May call deleters.
void retire_hazardous(retired& object, const retired_kind& kind) noexcept;

// Extension: reclaims what any thread has retired before and no hazard pointer protects, but for
// what other threads are just reclaiming, and what deleters retire meanwhile. Does nothing in a
// deleter.
void hazard_pointer_clean_up() noexcept;

inline void unpublish(hazard_slot& slot) noexcept {
  // (HP4) Pairs with (HP7): who sees the slot clear sees all that was done under its protection.
  slot.object.store(nullptr, at(letter::HP4, platform::release));
}

// Afterwards the thread may look whether the object is still there: if so, it is protected.
inline void publish(hazard_slot& slot, const retired* object) noexcept {
  const thread_record& me = my_record();
  // (HP1) As (HP4), of what the slot protected before.
  slot.object.store(object, at(letter::HP1, platform::release));
  // (HP2) Light fence: the slot before the look at the mode and, in the caller, at the source. Made
  // a full one by the heavy fence (H) in consensus.cpp, by a report (E1, E2) or by coming online
  // (F), whichever the scan relied on.
  platform::light_fence(letter::HP2);
  const bool online = is_online(me) || is_mutant(mutant::hazard_without_mode);
  // Reported, be it while holding something.
  const bool reported =
      (default_domain.version.load(platform::relaxed) ^ me.seen.load(platform::relaxed)) <= 1;
  if (!online || !reported) [[unlikely]] {
    confirm_protection();
  }
}

}  // namespace readmost::detail
