// SPDX-License-Identifier: Apache-2.0
// The interface under which the benchmarks use a lock.
#pragma once

namespace bench {

// The state that one thread needs to use `lock`; the thread makes one before it locks. The primary
// template fits locks with the members of std::shared_mutex. Specializations serve locks that
// register their threads or need memory of the thread's own. A library's inline functions stay
// inline.
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

// Starts on a cache line of its own, so that the lock's neighbours do not influence the figures.
template <class Lock>
struct alignas(64) alone_on_its_line {
  Lock lock{};
};

}  // namespace bench
