// SPDX-License-Identifier: Apache-2.0
// The reader-writer locks other than Readmost's under tables and semaphores.
#pragma once

#include "contenders/locks/basic_locks.hpp"
#include "contenders/rcu/big_reader_lock.hpp"

namespace bench {

// Excludes readers from one another, too.
class exclusive_spinlock : public spinlock {
 public:
  void lock_shared() noexcept { lock(); }
  void unlock_shared() noexcept { unlock(); }
};

// The read side of a lock for one thread: the lock itself, except for a big_reader_lock.
template <class Lock>
class reader_of {
 public:
  explicit reader_of(Lock& lock) : lock_(lock) {}
  void lock_shared() { lock_.lock_shared(); }
  void unlock_shared() { lock_.unlock_shared(); }

 private:
  Lock& lock_;
};

template <class Mutex>
class reader_of<big_reader_lock<Mutex>> {
 public:
  explicit reader_of(big_reader_lock<Mutex>& lock) : mine_(lock), mutex_(mine_.mutex()) {}
  void lock_shared() { mutex_.lock(); }
  void unlock_shared() { mutex_.unlock(); }

 private:
  typename big_reader_lock<Mutex>::membership mine_;
  Mutex& mutex_;
};

}  // namespace bench
