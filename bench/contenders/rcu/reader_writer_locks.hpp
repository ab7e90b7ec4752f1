// What rcu_hash_table.cpp and semaphore_array.cpp use as reader-writer locks beside ours.
#pragma once

#include "big_reader_lock.hpp"
#include "pthread_lock.hpp"

namespace bench {

// One at a time, also of readers.
class exclusive_spinlock : public spinlock {
 public:
  void lock_shared() noexcept { lock(); }
  void unlock_shared() noexcept { unlock(); }
};

// For one thread.
class unsynchronized {
 public:
  void lock() {}
  void unlock() {}
  void lock_shared() {}
  void unlock_shared() {}
};

// A thread's read side of a lock: itself, but for a big_reader_lock.
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
