// The interface under which the benchmarks use a lock.
#pragma once

namespace bench {

// What one thread needs to use `lock`; it makes one before it locks. As it stands, for locks with
// the members of std::shared_mutex, that is nothing. Locks that want to know their threads, or
// memory of the thread's own, specialise it, as these libraries ask of all their users. What a
// library has inline stays inline.
template <class Lock>
class holder {
 public:
  explicit holder(Lock& lock) : lock_(lock) {}

  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }
  void lock_shared() { lock_.lock_shared(); }
  void unlock_shared() { lock_.unlock_shared(); }

 private:
  Lock& lock_;
};

// Starts on a cache line of its own, so that no lock is measured by its neighbours.
template <class Lock>
struct alignas(64) alone_on_its_line {
  Lock lock{};
};

}  // namespace bench
