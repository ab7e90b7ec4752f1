// SPDX-License-Identifier: Apache-2.0
// The reader-writer locks of other libraries, those that the build found, as bench::holder uses
// them: each as its library asks of its users.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include "contenders/locks/holder.hpp"

#if defined(BENCH_HAS_ABSL)
#include <absl/synchronization/mutex.h>
#endif

#if defined(BENCH_HAS_BOOST)
// Without interruption points, since these threads are never interrupted. boost::shared_mutex is
// boost::upgrade_mutex in Boost 1.74.
#define BOOST_THREAD_DONT_PROVIDE_INTERRUPTIONS
#include <boost/thread/shared_mutex.hpp>
#endif

#if defined(BENCH_HAS_TBB)
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>
#endif

#if defined(BENCH_HAS_CK)
#include <ck_brlock.h>
#include <ck_bytelock.h>
#include <ck_pflock.h>
#include <ck_rwlock.h>
#include <ck_tflock.h>
#endif

namespace bench {

#if defined(BENCH_HAS_ABSL)

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

#endif

#if defined(BENCH_HAS_TBB)

// Each thread queues with a node of its own. The other two locks of oneTBB have the members of
// std::shared_mutex: rw_mutex sleeps, spin_rw_mutex spins.
template <>
class holder<tbb::queuing_rw_mutex> {
 public:
  static constexpr std::size_t thread_bytes = sizeof(tbb::queuing_rw_mutex::scoped_lock);

  explicit holder(tbb::queuing_rw_mutex& lock) : lock_(lock) {}

  void lock() { node_.acquire(lock_, true); }
  void unlock() { node_.release(); }
  void lock_shared() { node_.acquire(lock_, false); }
  void unlock_shared() { node_.release(); }

 private:
  tbb::queuing_rw_mutex& lock_;
  tbb::queuing_rw_mutex::scoped_lock node_;
};

#endif

#if defined(BENCH_HAS_CK)

// The locks of Concurrency Kit spin. ck_swlock (one writer only) and ck_rwcohort (machines with
// several nodes) are left out.
template <class Lock, auto write_lock, auto write_unlock, auto read_lock, auto read_unlock>
class ck_lock {
 public:
  void lock() { write_lock(&lock_); }
  void unlock() { write_unlock(&lock_); }
  void lock_shared() { read_lock(&lock_); }
  void unlock_shared() { read_unlock(&lock_); }

 private:
  Lock lock_{};  // all zeros, as CK_..._INITIALIZER
};

using ck_writer_first_lock = ck_lock<ck_rwlock_t, ck_rwlock_write_lock, ck_rwlock_write_unlock,
                                     ck_rwlock_read_lock, ck_rwlock_read_unlock>;
using ck_phase_fair_lock = ck_lock<ck_pflock_t, ck_pflock_write_lock, ck_pflock_write_unlock,
                                   ck_pflock_read_lock, ck_pflock_read_unlock>;
using ck_task_fair_lock =
    ck_lock<ck_tflock_ticket_t, ck_tflock_ticket_write_lock, ck_tflock_ticket_write_unlock,
            ck_tflock_ticket_read_lock, ck_tflock_ticket_read_unlock>;

// A big-reader lock: each reader registers memory of its own with each lock.
template <>
class holder<ck_brlock_t> {
 public:
  static constexpr std::size_t thread_bytes = sizeof(ck_brlock_reader_t);

  explicit holder(ck_brlock_t& lock) : lock_(lock) { ck_brlock_read_register(&lock_, &reader_); }
  ~holder() { ck_brlock_read_unregister(&lock_, &reader_); }
  holder(const holder&) = delete;
  holder& operator=(const holder&) = delete;

  void lock() { ck_brlock_write_lock(&lock_); }
  void unlock() { ck_brlock_write_unlock(&lock_); }
  void lock_shared() { ck_brlock_read_lock(&lock_, &reader_); }
  void unlock_shared() { ck_brlock_read_unlock(&reader_); }

 private:
  ck_brlock_t& lock_;
  // On a cache line of its own, as its users place it.
  alignas(64) ck_brlock_reader_t reader_{};
};

// Numbers threads from 1, the lowest free number first.
class thread_number {
 public:
  thread_number() {
    const std::lock_guard guard(mutex);
    const auto free = std::find(taken.begin(), taken.end(), false);
    value_ = static_cast<unsigned>(free - taken.begin()) + 1;
    if (free == taken.end()) taken.push_back(false);
    taken[value_ - 1] = true;
  }
  ~thread_number() {
    const std::lock_guard guard(mutex);
    taken[value_ - 1] = false;
  }
  thread_number(const thread_number&) = delete;
  thread_number& operator=(const thread_number&) = delete;

  unsigned value() const { return value_; }

 private:
  static inline std::mutex mutex;
  static inline std::vector<bool> taken;

  unsigned value_;
};

// The threads numbered 1 to 56 have a byte each in the lock; the others share a counter.
template <>
class holder<ck_bytelock_t> {
 public:
  explicit holder(ck_bytelock_t& lock) : lock_(lock) {}

  void lock() { ck_bytelock_write_lock(&lock_, thread_.value()); }
  void unlock() { ck_bytelock_write_unlock(&lock_); }
  void lock_shared() { ck_bytelock_read_lock(&lock_, thread_.value()); }
  void unlock_shared() { ck_bytelock_read_unlock(&lock_, thread_.value()); }

 private:
  ck_bytelock_t& lock_;
  const thread_number thread_;
};

#endif

}  // namespace bench
