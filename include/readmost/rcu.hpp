// Read-copy update in the shape of C++26 <rcu> ([saferecl.rcu]): readers that execute no atomic
// read-modify-write, no fence and no store to a shared line, and grace periods of less than a
// microsecond while readers are hot.
//
//   std::atomic<config*> current;
//
//   void reader() {
//     std::scoped_lock section(readmost::rcu_default_domain());  // or: readmost::rcu_reader
//     section; use(*current.load(std::memory_order_acquire));
//   }
//   void writer(config* fresh) {
//     readmost::rcu_retire(current.exchange(fresh));  // deleted once no reader can have it
//   }
//
// Names, interfaces and guarantees are the standard's. In short: if the retirement (or the call of
// rcu_synchronize) does not strongly happen before the opening of a read section, then the end of
// that section strongly happens before the deleter runs (before the call returns). Members marked
// as extensions below are not in the standard.
//
// Read sections. They nest, also in different domains; a section may sleep, lock, and be used in
// signal handlers. Threads need no registration: a thread's first section registers it. The thread
// that opened a section closes it. Inside a section, its thread must not wait for a grace period of
// the domain (rcu_synchronize, rcu_barrier): it would wait for itself.
// Cost: 1 to 2 ns for lock and unlock together. Progress: wait-free.
// If the process must not use membarrier(2), a section costs a fence in addition; all else holds.
//
// Deleters run in a thread of the library's own, one at a time for each domain, oldest first, with
// all signals blocked. They may retire, lock, open sections, and wait for grace periods; a deleter
// that throws ends the program. They do not run inside rcu_retire, retire and unlock, unless
// reclaiming happens in place (rcu_reclaim_by()); so a deleter may take a lock that retiring
// threads hold. When the process ends by exit() or by the return of main(), objects retired before
// are reclaimed, except those that a reader still uses after a second. In the child of a fork,
// objects that wait go on waiting; the child does nothing about an object whose deleter was running
// in the parent, nor about objects that other threads retired during the fork.
//
// Bounded backlog. Above a limit (65,536 objects or 32 MiB of sizeof, each over all threads, and at
// most 64 objects or 64 KiB more for each thread) a thread that retires waits until the backlog is
// a quarter below the limit: at most 0.1 s for every 64 objects, and not inside sections and
// deleters. So a flood of updates does not exhaust memory, and a reader that never leaves slows
// writers down to some hundred objects a second but does not block them for good.
//
// With READMOST_RCU_CHECK=1 in the environment, or in a build with -DREADMOST_RCU_CHECK, misuse is
// reported on stderr with a backtrace; waiting inside one's own section always is: docs/rcu.md.
//
// Sources: FCP 5 (grace periods), RCU 3.1 (callbacks).
#pragma once

#include <memory>
#include <readmost/detail/rcu/retired.hpp>
#include <readmost/lock_domain.hpp>
#include <type_traits>
#include <utility>

namespace readmost {

#define READMOST_RCU 202306L  // the value of __cpp_lib_rcu whose shape this is

template <class T, class D>
class rcu_obj_base;

using detail::backlog_limit;
using detail::rcu_statistics;
using detail::reclaiming;

// A set of readers, for which its grace periods wait. Lockable, so std::scoped_lock and
// std::unique_lock open and close sections. Thread and signal safety: all members.
class rcu_domain {
 public:
  rcu_domain(const rcu_domain&) = delete;
  rcu_domain& operator=(const rcu_domain&) = delete;

  // Opens a section of the calling thread. Never waits.
  void lock() noexcept { detail::enter_section(detail::my_record(number_), number_); }
  // The same; always true.
  bool try_lock() noexcept {
    lock();
    return true;
  }
  // Closes the section opened last. Precondition: there is one. Wakes threads that sleep until it
  // ends.
  void unlock() noexcept { detail::leave_section(detail::my_record(number_), number_); }

  // Extension: for the library's own use.
  detail::domain& core() const noexcept { return detail::domains[number_]; }

 protected:
  constexpr explicit rcu_domain(unsigned number) noexcept : number_(number) {}
  ~rcu_domain() = default;

 private:
  unsigned number_;
};

namespace detail {

// The process's domain.
class process_domain final : public rcu_domain {
 public:
  constexpr process_domain() noexcept : rcu_domain(0) {}
};
// Constant, so that compilers know its number.
inline constexpr process_domain the_process_domain;

// 0 if only the deleter knows the type.
template <class T>
constexpr std::size_t size_if_known() noexcept {
  if constexpr (std::is_object_v<T> && requires { sizeof(T); }) {
    return sizeof(T);
  } else {
    return 0;
  }
}

// Stands for a retired object that does not derive from rcu_obj_base.
template <class T, class D>
class retired_pointer : public detail::retired {
 public:
  retired_pointer(T* pointer, D&& deleter) : pointer_(pointer), deleter_(std::move(deleter)) {}

  static constexpr detail::retired_kind kind{
      [](detail::retired* object) noexcept {
        // The deleter may end this node's domain, which is therefore not used afterwards.
        const std::unique_ptr<retired_pointer> self(static_cast<retired_pointer*>(object));
        self->deleter_(self->pointer_);
      },
      size_if_known<T>()};

 private:
  T* pointer_;
  [[no_unique_address]] D deleter_;
};

}  // namespace detail

inline rcu_domain& rcu_default_domain() noexcept {
  return const_cast<detail::process_domain&>(detail::the_process_domain);
}

// Extension: a domain whose grace periods do not wait for the readers of other domains, and whose
// deleters run in a thread of their own. 15 of these and of lock_domain are separate at a time; any
// more share the default domain's readers, grace periods and deleters.
class separate_rcu_domain : private lock_domain, public rcu_domain {
 public:
  separate_rcu_domain() noexcept : rcu_domain(lock_domain::number()) {}
  // Reclaims all that was retired. Precondition: no section of the domain is open, and no thread
  // uses the domain any more.
  ~separate_rcu_domain() {
    if (is_separate()) {
      detail::close_reclamation(core());
    } else {
      detail::barrier(core());
    }
  }
  using lock_domain::is_separate;
};

// Extension: a section of the default domain in scope. A little faster than std::scoped_lock, since
// it remembers the thread's record. It must be destroyed by its thread, before that ends.
class [[nodiscard]] rcu_reader {
 public:
  rcu_reader() noexcept : me_(detail::my_record()) { detail::enter_section(me_, 0); }
  ~rcu_reader() { detail::leave_section(me_, 0); }
  rcu_reader(const rcu_reader&) = delete;
  rcu_reader& operator=(const rcu_reader&) = delete;

 private:
  detail::thread_record& me_;
};

// --- Grace periods -------------------------------------------------------------------------------

// Returns when every section of `dom` that was open at the call is closed. Concurrent callers share
// grace periods, and share membarriers with the writers of locks. Cost: 0.1 us without readers,
// less than 1 us against hot readers (some cache misses for each), and one membarrier(2) if a
// thread does not report by itself. Sleeps if a reader stays inside for more than 20 us.
inline void rcu_synchronize(rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::synchronize(dom.core(), detail::urgency::normal);
}

// Extension: executes the membarrier at once instead of giving threads time to report.
inline void rcu_synchronize_expedited(rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::synchronize(dom.core(), detail::urgency::hurry);
}

// Extension: polled grace periods. rcu_start_poll() takes a ticket; rcu_poll() returns whether a
// full grace period has passed since then. Neither waits. The grace period makes progress only in
// calls of rcu_poll() and of functions that wait for one. Both may be called inside a section,
// which the grace period then waits for. A ticket belongs to one domain.
struct rcu_ticket {
  std::uint64_t grace_period;
};
inline rcu_ticket rcu_start_poll(rcu_domain& dom = rcu_default_domain()) noexcept {
  const rcu_ticket ticket{detail::grace_period_from_now(dom.core())};
  detail::try_advance(dom.core(), ticket.grace_period);
  return ticket;
}
[[nodiscard]] inline bool rcu_poll(rcu_ticket ticket,
                                   rcu_domain& dom = rcu_default_domain()) noexcept {
  return detail::try_advance(dom.core(), ticket.grace_period);
}

// Extension: waits until a full grace period has passed since the ticket was taken; returns at once
// if it has.
inline void rcu_synchronize_since(rcu_ticket ticket,
                                  rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::await_grace_period(dom.core(), ticket.grace_period, detail::urgency::normal);
}

// --- Retiring ------------------------------------------------------------------------------------

// The base of objects that can be retired without allocating: two pointers and the deleter.
//   struct config : readmost::rcu_obj_base<config> { ... };
// T may be incomplete here; it has exactly one such base, public and not virtual. D is default
// constructible and move assignable.
template <class T, class D = std::default_delete<T>>
class rcu_obj_base {
 public:
  // Evaluates `d(pointer to the object)` after a grace period. Precondition: called once in the
  // object's life. Wait-free below the limit of the backlog; costs about 10 ns, and a system call
  // (about 2 us) when the reclaiming thread is asleep.
  void retire(D d = D(), rcu_domain& dom = rcu_default_domain()) noexcept {
    readmost_retirable_.deleter = std::move(d);
    static constexpr detail::retired_kind kind{
        [](detail::retired* object) noexcept {
          auto* const self = reinterpret_cast<rcu_obj_base*>(object);  // whose first member it is
          detail::call_deleter(self->readmost_retirable_.deleter, static_cast<T*>(self));
        },
        sizeof(T)};
    detail::schedule(dom.core(), readmost_retirable_.link, kind);
  }

 protected:
  // Trivially copyable if D is. A copy is not retired with its original; but copy no object that is
  // retired already or meanwhile, for its two pointers come along.
  rcu_obj_base() = default;
  rcu_obj_base(const rcu_obj_base&) = default;
  rcu_obj_base(rcu_obj_base&&) = default;
  rcu_obj_base& operator=(const rcu_obj_base&) = default;
  rcu_obj_base& operator=(rcu_obj_base&&) = default;
  ~rcu_obj_base() = default;

 private:
  detail::retirable<detail::retired, D> readmost_retirable_;
};

// Evaluates `d(p)` after a grace period. T may be any type, also an incomplete one. Allocates a
// node; throws std::bad_alloc, and then has no effect.
template <class T, class D = std::default_delete<T>>
void rcu_retire(T* p, D d = D(), rcu_domain& dom = rcu_default_domain()) {
  auto* const node = new detail::retired_pointer<T, D>(p, std::move(d));
  detail::schedule(dom.core(), *node, detail::retired_pointer<T, D>::kind);
}

// Returns when everything that was retired before the call has been reclaimed; inside a deleter,
// everything but the object of that deleter. Does not imply rcu_synchronize, nor the reverse.
inline void rcu_barrier(rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::barrier(dom.core());
}

// --- Extensions about reclaiming -----------------------------------------------------------------

// Starts to reclaim, with an expedited grace period. Does not wait.
inline void rcu_hurry(rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::hurry(dom.core());
}

// Sets the limit of the backlog: see above.
inline void rcu_limit_backlog(detail::backlog_limit limit,
                              rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::limit_backlog(dom.core(), limit);
}

// Sets which thread runs deleters. In place: no thread is started; deleters run in retire,
// rcu_retire and rcu_barrier, outside of sections. A thread that retires then reclaims, after every
// 64 objects, those whose grace period has passed, and rcu_barrier() the rest.
// READMOST_RCU_THREAD=0 in the environment does the same, as does the library if no thread can be
// started. Precondition: nothing has been retired in `dom` yet.
inline void rcu_reclaim_by(detail::reclaiming who,
                           rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::reclaim_by(dom.core(), who);
}

// Counts since the process began; exact when no thread is retiring.
inline detail::rcu_statistics rcu_statistics_of(rcu_domain& dom = rcu_default_domain()) noexcept {
  return detail::statistics_of(dom.core());
}

}  // namespace readmost
