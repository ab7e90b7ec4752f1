// SPDX-License-Identifier: Apache-2.0
// Adapts readmost's own timed classes to the interface that the scenarios expect.
#pragma once

#include <chrono>
#include <readmost/detail/lock/basic_shared_timed_mutex.hpp>

namespace torture {

template <class Mutex, readmost::preference Preference>
class own_timed_lock : public Mutex {
 public:
  static constexpr bool prefers_readers = Preference == readmost::preference::reader;
  static constexpr bool recursive_reads = true;
  static constexpr bool timed = true;
  static constexpr bool any_thread_unlocks = false;
  static constexpr bool upgrades = true;
  static constexpr bool survives_fork = true;

  using Mutex::Mutex;

  bool try_lock_by_wall_clock(std::chrono::nanoseconds wait) {
    return this->try_lock_until(std::chrono::system_clock::now() + wait);
  }
  bool try_lock_shared_by_wall_clock(std::chrono::nanoseconds wait) {
    return this->try_lock_shared_until(std::chrono::system_clock::now() + wait);
  }
};

}  // namespace torture
