// SPDX-License-Identifier: Apache-2.0
// Locks of readmost.h in the states for which a rule is checked, brought there by its functions.
#pragma once

#include <readmost.h>
#include <time.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>

namespace c_api {

inline constexpr int preferences[] = {READMOST_PREFER_WRITER, READMOST_PREFER_READER,
                                      READMOST_PREFER_PHASE_FAIR};

inline const char* name_of(int preference) {
  switch (preference) {
    case READMOST_PREFER_WRITER:
      return "writers preferred";
    case READMOST_PREFER_READER:
      return "readers preferred";
    case READMOST_PREFER_PHASE_FAIR:
      return "phase-fair";
    default:
      return "no preference";
  }
}

inline void init(readmost_rwlock_t& lock, int preference) {
  readmost_rwlockattr_t attributes;
  if (readmost_rwlockattr_init(&attributes) != 0 ||
      readmost_rwlockattr_setpreference(&attributes, preference) != 0 ||
      readmost_rwlock_init(&lock, &attributes) != 0) {
    std::abort();
  }
}

// Reads so often that the lock becomes biased, if nothing forbids it: the next read hold is then
// passive. A hold that was taken before is active.
inline void make_hot(readmost_rwlock_t& lock) {
  for (int i = 0; i < 20'000; ++i) {
    if (readmost_rwlock_rdlock(&lock) != 0 || readmost_rwlock_rdunlock(&lock) != 0) std::abort();
  }
}

// A point in time of CLOCK_MONOTONIC.
inline timespec in(std::chrono::milliseconds time) {
  timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += time.count() / 1'000;
  at.tv_nsec += time.count() % 1'000 * 1'000'000;
  if (at.tv_nsec >= 1'000'000'000) {
    ++at.tv_sec;
    at.tv_nsec -= 1'000'000'000;
  }
  return at;
}

// Whether a thread that holds nothing can write; leaves the lock as it was.
inline bool is_free_elsewhere(readmost_rwlock_t& lock) {
  bool written = false;
  std::thread([&] {
    written = readmost_rwlock_trywrlock(&lock) == 0;
    if (written) readmost_rwlock_wrunlock(&lock);
  }).join();
  return written;
}

// Locks that the calling thread holds for reading, so that a further hold finds few places, or
// none, in the thread's record.
class other_holds {
 public:
  explicit other_holds(std::size_t count) : count_(count) {
    for (std::size_t i = 0; i < count_; ++i) {
      make_hot(locks_[i]);
      if (readmost_rwlock_rdlock(&locks_[i]) != 0) std::abort();
    }
  }
  other_holds(const other_holds&) = delete;
  other_holds& operator=(const other_holds&) = delete;
  ~other_holds() {
    for (std::size_t i = 0; i < count_; ++i) readmost_rwlock_rdunlock(&locks_[i]);
  }

  static constexpr std::size_t most = 12;

 private:
  std::array<readmost_rwlock_t, most> locks_{};
  std::size_t count_;
};

}  // namespace c_api
