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

#include "rivals/home.hpp"
#include "rivals/pf_q.hpp"

namespace rivals {

class per_cpu_lock {
 public:
  per_cpu_lock() noexcept = default;
  per_cpu_lock(const per_cpu_lock&) = delete;
  per_cpu_lock& operator=(const per_cpu_lock&) = delete;

  void lock_shared() noexcept { locks_[home()].lock_shared(); }
  bool try_lock_shared() noexcept { return locks_[home()].try_lock_shared(); }
  void unlock_shared() noexcept { locks_[home()].unlock_shared(); }

  void lock() noexcept {
    for (unsigned cpu = 0; cpu < locks_.size(); ++cpu) locks_[cpu].lock();
  }

  bool try_lock() noexcept {
    for (unsigned cpu = 0; cpu < locks_.size(); ++cpu) {
      if (locks_[cpu].try_lock()) continue;
      unlock_first(cpu);
      return false;
    }
    return true;
  }

  void unlock() noexcept { unlock_first(locks_.size()); }

  static constexpr std::size_t footprint(unsigned cpus) noexcept {
    return sizeof(per_cpu_lock) + decltype(locks_)::footprint(cpus);
  }

 private:
  void unlock_first(unsigned count) noexcept {
    while (count != 0) locks_[--count].unlock();
  }

  spread_array<pf_q> locks_{places()};
};

}  // namespace rivals
