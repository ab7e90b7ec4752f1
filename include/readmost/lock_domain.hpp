// SPDX-License-Identifier: Apache-2.0
// Lock domains: a lock's writers wait only for the threads that use locks of its domain.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <readmost/detail/lock/basic_shared_timed_mutex.hpp>

namespace readmost {

// A separate domain (FCP 7.1). A writer that revokes the bias of a lock needs a report of every
// thread that read-locks in the lock's domain, whichever locks it reads. With a separate domain
// for, say, the locks of the control plane, their writers neither wait for the busy readers of the
// data plane nor make them report. The membarrier of last resort remains common: it interrupts
// every CPU that runs the process.
//
// Cost: a record of 832 bytes for each thread in each domain that it read-locks in, and a slightly
// longer passive read lock, which has to find its record by the lock (see bench/README.md). A
// domain provides no order, priority or deadlock avoidance between locks.
//
// At most 15 domains at a time are separate; locks of further ones work in the process's domain.
// Thread safety: all members. Errors: none; the constructor does not throw.
class lock_domain {
 public:
  lock_domain() noexcept : number_(detail::take_domain()) {}
  // Precondition: no lock of the domain is used any more.
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

  // False if it shares the process's domain.
  bool is_separate() const noexcept { return number_ != 0; }

  unsigned number() const noexcept { return number_; }

 private:
  unsigned number_;
};

// A shared_timed_mutex in a given domain, which has to outlive it. 16 bytes.
class domain_shared_mutex : public detail::basic_shared_timed_mutex<detail::in_own_domain> {
 public:
  explicit domain_shared_mutex(const lock_domain& domain,
                               preference prefers = preference::writer) noexcept
      : basic_shared_timed_mutex(prefers, domain.number()) {}
};
static_assert(sizeof(domain_shared_mutex) == 16);

}  // namespace readmost
