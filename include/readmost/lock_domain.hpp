// Lock domains: locks whose writers wait for the threads that use them, and for no others.
#pragma once

#include <readmost/detail/lock/basic_shared_timed_mutex.hpp>

namespace readmost {

// A domain of one's own (FCP 7.1). A writer that revokes the bias of a lock asks all threads
// that read-lock in the lock's domain, whichever locks they read. With a domain for, say, the
// locks of the control plane, its writers neither wait for the busy readers of the data plane nor
// make them report. What remains in common is the membarrier of last resort, which interrupts
// every CPU that runs the process.
//
// What it costs: a record of 896 bytes for each thread in each domain that it read-locks in, and a
// little more for a passive read lock, which has to find its record by the lock (see
// bench/README.md). What it does not do: order, priority or deadlock avoidance between locks.
//
// 15 domains at a time have threads of their own; further ones share the process's domain, where
// they work as well, unseparated. Thread safety: all members. Constructor: never throws.
class lock_domain {
 public:
  lock_domain() noexcept : number_(detail::take_domain()) {}
  // Precondition: no lock of the domain will be used any more.
  ~lock_domain() {
    if (number_ != 0) detail::give_back_domain(number_);
  }
  lock_domain(const lock_domain&) = delete;
  lock_domain& operator=(const lock_domain&) = delete;

  // Hints, as readmost::online() and offline(), for the calling thread and this domain.
  void online() noexcept {
    if (detail::thread_record* me = detail::enlist(number_)) detail::come_online(*me);
  }
  void offline() noexcept {
    if (&detail::my_record(number_) != &detail::unregistered)
      detail::go_offline(detail::my_record(number_));
  }

  // False when it shares the process's domain.
  bool is_separate() const noexcept { return number_ != 0; }

  unsigned number() const noexcept { return number_; }

 private:
  unsigned number_;
};

// A shared_timed_mutex in a domain of one's own. 16 bytes. The domain has to outlive it.
class domain_shared_mutex : public detail::basic_shared_timed_mutex<detail::in_own_domain> {
 public:
  explicit domain_shared_mutex(const lock_domain& domain,
                               preference prefers = preference::writer) noexcept
      : basic_shared_timed_mutex(prefers, domain.number()) {}
};
static_assert(sizeof(domain_shared_mutex) == 16);

}  // namespace readmost
