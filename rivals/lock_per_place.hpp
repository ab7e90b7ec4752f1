// SPDX-License-Identifier: Apache-2.0
// An array of locks, one for each place (home.hpp): a reader takes that of its place, a writer
// takes all, in order, so that no two writers each have half of them.
#pragma once

#include "rivals/home.hpp"

namespace rivals {

template <class Lock>
class lock_per_place {
 public:
  void lock() noexcept {
    for (unsigned i = 0; i < locks_.size(); ++i) locks_[i].lock();
  }
  bool try_lock() noexcept {
    for (unsigned i = 0; i < locks_.size(); ++i) {
      if (locks_[i].try_lock()) continue;
      unlock_first(i);
      return false;
    }
    return true;
  }
  void unlock() noexcept { unlock_first(locks_.size()); }

  void lock_shared() noexcept { locks_[home()].lock_shared(); }
  bool try_lock_shared() noexcept { return locks_[home()].try_lock_shared(); }
  void unlock_shared() noexcept { locks_[home()].unlock_shared(); }

  static constexpr std::size_t footprint(unsigned cpus) noexcept {
    return sizeof(lock_per_place) + decltype(locks_)::footprint(cpus);
  }

 private:
  void unlock_first(unsigned count) noexcept {
    while (count != 0) locks_[--count].unlock();
  }

  spread_array<Lock> locks_{places()};
};

}  // namespace rivals
