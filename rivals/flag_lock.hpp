// SPDX-License-Identifier: Apache-2.0
// The common part of brlock2 and TLRW: a reader has a flag of its own, by its thread's number
// (home.hpp), and a writer reads all flags. Readers beyond the flags are counted in `others_`.
#pragma once

#include <limits>

#include "rivals/home.hpp"

namespace rivals {

// `Flags` is an array of atomics, each of which counts how often its thread holds the lock.
template <class Flag, class Flags>
class flag_lock : immovable<flag_lock<Flag, Flags>> {
 public:
  void lock() noexcept {
    wait_until([this] { return begin_writing(); });
    for (unsigned i = 0; i < flags_.size(); ++i) {
      wait_until([&] { return flags_[i].load(platform::seq_cst) == 0; });
    }
    wait_until([this] { return others_.load(platform::seq_cst) == 0; });
  }
  bool try_lock() noexcept {
    if (!begin_writing()) return false;
    bool is_read = others_.load(platform::seq_cst) != 0;
    for (unsigned i = 0; i < flags_.size(); ++i) {
      is_read = is_read || flags_[i].load(platform::seq_cst) != 0;
    }
    if (is_read) unlock();
    return !is_read;
  }
  void unlock() noexcept { writing_.store(0, platform::release); }

  void lock_shared() noexcept {
    retry([this] { return try_lock_shared(); },
          [this] { return writing_.load(platform::relaxed) != 0; });
  }
  // The flag's store, the load of the writer's word, and the writer's store and loads are all in
  // the single order of sequential consistency: if reader and writer meet, one of them sees the
  // other.
  bool try_lock_shared() noexcept {
    const unsigned number = my_number();
    if (number < flags_.size()) {
      auto& own = flags_[number];
      if (const Flag depth = own.load(platform::relaxed); depth != 0) {
        // Inside already: a writer waits for this thread.
        if (depth == most) {
          others_.fetch_add(1, platform::relaxed);
        } else {
          own.store(static_cast<Flag>(depth + 1), platform::relaxed);
        }
        return true;
      }
      own.store(1, platform::seq_cst);
    } else {
      others_.fetch_add(1, platform::seq_cst);
    }
    if (writing_.load(platform::seq_cst) == 0) return true;
    unlock_shared();
    return false;
  }
  void unlock_shared() noexcept {
    if (const unsigned number = my_number(); number < flags_.size()) {
      auto& own = flags_[number];
      if (const Flag depth = own.load(platform::relaxed); depth != 0) {
        own.store(static_cast<Flag>(depth - 1), platform::release);
        return;
      }
    }
    others_.fetch_sub(1, platform::release);
  }

 protected:
  constexpr flag_lock() noexcept = default;
  explicit flag_lock(unsigned flags) noexcept : flags_(flags) {}

 private:
  static constexpr Flag most = std::numeric_limits<Flag>::max();

  bool begin_writing() noexcept {
    std::uint32_t free = 0;
    return writing_.load(platform::relaxed) == 0 &&
           writing_.compare_exchange_strong(free, 1, platform::seq_cst, platform::relaxed);
  }

  // A writer is inside or waits for readers to leave.
  platform::atomic<std::uint32_t> writing_{0};
  platform::atomic<std::uint32_t> others_{0};
  Flags flags_;
};

}  // namespace rivals
