// SPDX-License-Identifier: Apache-2.0
// brlock1: a small lock per CPU; a reader takes one, a writer takes all.
//
// Source: Chen et al., FCP (IEEE TPDS 27(10), 2016), section 2 "brlock1"; Linux 2.4
// include/linux/brlock.h and lib/brlock.c with __BRLOCK_USE_ATOMICS (I. Molnar, D. S. Miller,
// 2000).
//
// Readers on different CPUs write different lines. A writer goes through the small locks in order,
// so that two writers cannot each have half of them. While it waits for one, readers may still
// enter there, and readers that hold that one may lock it again.
//
// Simplified: "its CPU" is the thread's place (home.hpp). The threads of a place share its lock, as
// an interrupt handler shared it with the code that it interrupted: with rwlock_t's count of
// readers. A mutex instead would exclude readers that happen to have the same place from each
// other.
//
// Reader: one read-modify-write to lock, one to unlock, on its place's line. Writer: two per place.
// Preference: readers. Recursive read locks: yes. Size: 16 bytes and a line per CPU.
#pragma once

#include "rivals/lock_per_place.hpp"

namespace rivals {

// Counts readers, or marks a writer; beside the mark it counts readers that are about to step back.
class brlock_small_lock {
 public:
  bool try_lock() noexcept {
    std::uint32_t free = 0;
    return state_.compare_exchange_strong(free, writing, platform::acquire, platform::relaxed);
  }
  void lock() noexcept {
    wait_until([this] { return state_.load(platform::relaxed) == 0 && try_lock(); });
  }
  void unlock() noexcept { state_.fetch_sub(writing, platform::release); }

  bool try_lock_shared() noexcept {
    if ((state_.fetch_add(1, platform::acquire) & writing) == 0) return true;
    state_.fetch_sub(1, platform::relaxed);
    return false;
  }
  void lock_shared() noexcept {
    retry([this] { return try_lock_shared(); },
          [this] { return (state_.load(platform::relaxed) & writing) != 0; });
  }
  void unlock_shared() noexcept { state_.fetch_sub(1, platform::release); }

 private:
  static constexpr std::uint32_t writing = std::uint32_t{1} << 31;

  platform::atomic<std::uint32_t> state_{0};
};

class brlock_mutexes : public lock_per_place<brlock_small_lock> {};

}  // namespace rivals
