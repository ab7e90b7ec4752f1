// The reader-writer locks of Concurrency Kit; all of them spin. ck_swlock is for one writer only
// and ck_rwcohort for machines of several nodes; neither is here.
#pragma once

#include <ck_brlock.h>
#include <ck_bytelock.h>
#include <ck_pflock.h>
#include <ck_rwlock.h>
#include <ck_tflock.h>

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include "holder.hpp"

namespace bench {

// Writers first.
class ck_writer_first_lock {
 public:
  void lock() { ck_rwlock_write_lock(&lock_); }
  void unlock() { ck_rwlock_write_unlock(&lock_); }
  void lock_shared() { ck_rwlock_read_lock(&lock_); }
  void unlock_shared() { ck_rwlock_read_unlock(&lock_); }

 private:
  ck_rwlock_t lock_ = CK_RWLOCK_INITIALIZER;
};

// Phase-fair: readers and writers in turn.
class ck_phase_fair_lock {
 public:
  void lock() { ck_pflock_write_lock(&lock_); }
  void unlock() { ck_pflock_write_unlock(&lock_); }
  void lock_shared() { ck_pflock_read_lock(&lock_); }
  void unlock_shared() { ck_pflock_read_unlock(&lock_); }

 private:
  ck_pflock_t lock_ = CK_PFLOCK_INITIALIZER;
};

// Task-fair: in the order of arrival.
class ck_task_fair_lock {
 public:
  void lock() { ck_tflock_ticket_write_lock(&lock_); }
  void unlock() { ck_tflock_ticket_write_unlock(&lock_); }
  void lock_shared() { ck_tflock_ticket_read_lock(&lock_); }
  void unlock_shared() { ck_tflock_ticket_read_unlock(&lock_); }

 private:
  ck_tflock_ticket_t lock_ = CK_TFLOCK_TICKET_INITIALIZER;
};

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
  // As its users place it: where no other thread's reader is.
  alignas(64) ck_brlock_reader_t reader_{};
};

// Numbers for threads, from 1 and as low as possible.
class thread_number {
 public:
  thread_number() {
    const std::lock_guard guard(mutex());
    const auto free = std::find(taken().begin(), taken().end(), false);
    value_ = static_cast<unsigned>(free - taken().begin()) + 1;
    if (free == taken().end()) {
      taken().push_back(true);
    } else {
      *free = true;
    }
  }
  ~thread_number() {
    const std::lock_guard guard(mutex());
    taken()[value_ - 1] = false;
  }
  thread_number(const thread_number&) = delete;
  thread_number& operator=(const thread_number&) = delete;

  unsigned value() const { return value_; }

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static std::vector<bool>& taken() {
    static std::vector<bool> one;
    return one;
  }

  unsigned value_;
};

// A byte in the lock for each of the threads with the numbers 1 to 56; others share a counter.
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

}  // namespace bench
