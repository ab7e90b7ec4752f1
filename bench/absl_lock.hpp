// absl::Mutex, locked for reading by ReaderLock().
#pragma once

#include <absl/synchronization/mutex.h>

#include "holder.hpp"

namespace bench {

template <>
class holder<absl::Mutex> {
 public:
  explicit holder(absl::Mutex& lock) : lock_(lock) {}

  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS { lock_.Lock(); }
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS { lock_.Unlock(); }
  void lock_shared() ABSL_NO_THREAD_SAFETY_ANALYSIS { lock_.ReaderLock(); }
  void unlock_shared() ABSL_NO_THREAD_SAFETY_ANALYSIS { lock_.ReaderUnlock(); }

 private:
  absl::Mutex& lock_;
};

// Debian builds the library without NDEBUG, and then it keeps a graph of who waits for whom, which
// costs many times the lock itself. Nobody wants that in a release build.
inline void ignore_deadlocks() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
}

}  // namespace bench
