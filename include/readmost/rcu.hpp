// SPDX-License-Identifier: Apache-2.0
// Read-copy update in the shape of C++26 <rcu> ([saferecl.rcu]): readers that execute no atomic
// read-modify-write, no fence and no store to a shared line, and grace periods of less than a
// microsecond while readers are hot.
//
//   std::atomic<config*> current;
//
//   void reader() {
//     readmost::rcu_reader section;  // or std::scoped_lock section(readmost::rcu_default_domain())
//     use(*current.load(std::memory_order_acquire));
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
// Deleters run in a thread of the library's own, one at a time for each domain, oldest first. If
// one takes longer than 0.1 to 0.2 s while others wait behind it, another thread takes them over
// and the slow one goes on beside them, up to 4 threads (rcu_limit_reclaimers()); rcu_barrier() and
// the end of a domain wait for all of them. So the order of deleters is that in which they begin.
// In these threads asynchronous signals are blocked, and it has ordinary priority and the CPUs that
// the main thread had at the beginning. They may retire, lock, open sections, wait for grace
// periods, and destroy the separate_rcu_domain that they belong to; a deleter that throws ends the
// program. They do not run inside rcu_retire, retire and unlock, unless reclaiming happens in place
// (rcu_reclaim_by()); so a deleter may take a lock that retiring threads hold. If no thread can be
// started, objects wait until one can, or for rcu_barrier(), which then runs the deleters itself.
//
// Laziness. The first object after a pause is reclaimed at once. Objects that are retired within
// 10 ms (rcu_limit_laziness()) of the last collection share the next grace period, unless somebody
// waits for them (rcu_barrier(), rcu_hurry()) or an eighth of the limit of the backlog has
// gathered. As long as nobody does, that grace period gives readers the same time again, 10 ms at
// most, to report by themselves, and executes a membarrier only for those that have not read by
// then.
//
// Limited backlog. Above a limit (65,536 objects or 32 MiB of sizeof, each over all threads, and at
// most 64 objects or 64 KiB more for each thread) a thread that retires waits until the backlog is
// a quarter below the limit, outside of sections and deleters: as long as objects are reclaimed, at
// most 1 s for each 64 objects. Once none has been reclaimed for 0.1 s, because a reader stays or a
// deleter does not return, threads do not wait until one is: they may hold the lock that it waits
// for. Then the backlog grows as fast as they retire, and the library warns on stderr. A program
// that must not grow uses try_retire() and rcu_try_retire(), which fail instead, or
// backlog_policy::block, which waits for good.
//
// The end of the process. exit() and the return of main() reclaim what was retired before, also by
// deleters, until nothing of that waits, or no object has been reclaimed for 1 s, or 10 s have
// passed; they wait another second for a deleter that runs. What other threads go on retiring
// meanwhile may stay. In the main thread that happens before the first
// destructor of a static object and the first function given to std::atexit(), and after the
// thread_local objects of the main thread; if another thread calls exit(), where a function would
// be called that was given to std::atexit() at the first retirement. If the system refuses the
// library its thread, deleters run in the thread that ends the process. Afterwards objects are only
// queued, and reclaimed by rcu_barrier() and the destructor of a separate_rcu_domain alone.
//
// In the child of a fork, objects that wait go on waiting; the child does nothing about an object
// whose deleter was running in the parent, nor about objects that other threads retired during the
// fork.
//
// With READMOST_RCU_CHECK=1 in the environment, or in a build with -DREADMOST_RCU_CHECK, misuse is
// reported on stderr with a backtrace; waiting inside one's own section always is: docs/rcu.md.
//
// Sources: FCP 5 (grace periods), RCU 3.1 (callbacks).
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <readmost/detail/platform/exceptions.hpp>
#include <readmost/detail/rcu/retired.hpp>
#include <readmost/lock_domain.hpp>
#include <system_error>
#include <type_traits>
#include <utility>

namespace readmost {

#define READMOST_RCU 202306L  // the value of __cpp_lib_rcu whose shape this is

template <class T, class D>
class rcu_obj_base;

using detail::backlog_limit;
using detail::backlog_policy;
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
  constexpr detail::domain& core() const noexcept { return detail::domains[number_]; }

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
// Constant, so that compilers know its number. One object for the program and the shared libraries
// that it loads, also those with hidden visibility.
[[gnu::visibility("default")]] inline constexpr process_domain the_process_domain;

inline unsigned take_separate_domain() {
  const unsigned number = take_domain();
  if (number != 0) return number;
#if defined(__cpp_exceptions)
  READMOST_THROW(std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                   "readmost::separate_rcu_domain"));
#else
  std::abort();
#endif
}

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
// deleters run in a thread of their own.
class separate_rcu_domain : public rcu_domain {
 public:
  // Throws std::system_error (EAGAIN) if there are 15 domains already, including those of locks
  // (lock_domain), or no memory; calls std::abort() in a program without exceptions.
  separate_rcu_domain() : rcu_domain(detail::take_separate_domain()) {}
  // Reclaims all that was retired, and what the deleters retire meanwhile. Precondition: no section
  // of the domain is open, and no thread uses the domain any more but the deleter that destroys it,
  // if one does; that deleter must not use it afterwards.
  ~separate_rcu_domain() { detail::close_reclamation(core()); }
};

// Extension: a section in scope, of the default domain or of one that is given. A little faster
// than std::scoped_lock, since it remembers the thread's record. It must be destroyed by its
// thread, before that ends.
class [[nodiscard]] rcu_reader {
 public:
  rcu_reader() noexcept : me_(detail::my_record()) { detail::enter_section(me_, 0); }
  explicit rcu_reader(const rcu_domain& dom) noexcept
      : me_(detail::my_record(detail::number_of(dom.core()))),
        domain_(detail::number_of(dom.core())) {
    detail::enter_section(me_, domain_);
  }
  ~rcu_reader() { detail::leave_section(me_, domain_); }
  rcu_reader(const rcu_reader&) = delete;
  rcu_reader& operator=(const rcu_reader&) = delete;

 private:
  detail::thread_record& me_;
  const unsigned domain_ = 0;
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
    static constexpr detail::retired_kind kind{readmost_reclaim, sizeof(T)};
    detail::schedule(dom.core(), readmost_retirable_.link, kind);
  }

  // Extension: the same, but never waits, also inside sections: false while the backlog is above
  // its limit. Then the object is not retired, and may be later.
  [[nodiscard]] bool try_retire(D d = D(), rcu_domain& dom = rcu_default_domain()) noexcept {
    readmost_retirable_.deleter = std::move(d);
    static constexpr detail::retired_kind kind{readmost_reclaim, sizeof(T)};
    return detail::try_schedule(dom.core(), readmost_retirable_.link, kind);
  }

 protected:
  // Trivially copyable if D is. A copy is not retired with its original, also if that was retired
  // before. A copy taken after that, inside a section, reads two words that the library may be
  // writing; nothing of them is used, but ThreadSanitizer reports it.
  rcu_obj_base() = default;
  rcu_obj_base(const rcu_obj_base&) = default;
  rcu_obj_base(rcu_obj_base&&) = default;
  rcu_obj_base& operator=(const rcu_obj_base&) = default;
  rcu_obj_base& operator=(rcu_obj_base&&) = default;
  ~rcu_obj_base() = default;

 private:
  // Private, but a name all the same: like the member's, one that users do not have.
  static void readmost_reclaim(detail::retired* object) noexcept {
    auto* const self = reinterpret_cast<rcu_obj_base*>(object);  // whose first member it is
    detail::call_deleter(self->readmost_retirable_.deleter, static_cast<T*>(self));
  }

  detail::link_and_deleter<detail::retired, D> readmost_retirable_;
};

// Evaluates `d(p)` after a grace period. T may be any type, also an incomplete one. Allocates a
// node; throws std::bad_alloc, and then has no effect.
template <class T, class D = std::default_delete<T>>
void rcu_retire(T* p, D d = D(), rcu_domain& dom = rcu_default_domain()) {
  auto* const node = new detail::retired_pointer<T, D>(p, std::move(d));
  detail::schedule(dom.core(), *node, detail::retired_pointer<T, D>::kind);
}

// Extension: the same, but never waits, also inside sections: false while the backlog is above its
// limit. Then nothing is retired, and `d` is destroyed.
template <class T, class D = std::default_delete<T>>
[[nodiscard]] bool rcu_try_retire(T* p, D d = D(), rcu_domain& dom = rcu_default_domain()) {
  auto node = std::make_unique<detail::retired_pointer<T, D>>(p, std::move(d));
  if (!detail::try_schedule(dom.core(), *node, detail::retired_pointer<T, D>::kind)) return false;
  node.release();
  return true;
}

// Returns when everything that was retired before the call has been reclaimed; inside a deleter,
// everything but the objects whose deleters have begun before. Does not imply rcu_synchronize, nor
// the reverse.
inline void rcu_barrier(rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::barrier(dom.core());
}

// --- Extensions about reclaiming -----------------------------------------------------------------

// Starts to reclaim at once, whatever the laziness, with an expedited grace period. Does not wait.
inline void rcu_hurry(rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::hurry(dom.core());
}

// Sets the longest time that retired objects wait for others to share a grace period; 10 ms at
// first. Where a reader does not report, its grace period may take as long again, up to 10 ms. A
// domain of laziness 0 is always in a hurry: about 2 us from retire() to the deleter, and
// up to a membarrier for each object.
inline void rcu_limit_laziness(std::chrono::nanoseconds longest,
                               rcu_domain& dom = rcu_default_domain()) noexcept {
  const auto nanoseconds = longest.count();
  detail::limit_laziness(dom.core(), nanoseconds > 0 ? static_cast<std::uint64_t>(nanoseconds) : 0);
}

// Sets the limit of the backlog, and what threads do above it. Outside of sections and deleters:
//   backlog_policy::pace   the default: they wait while objects are reclaimed, see above
//   backlog_policy::block  they wait until the backlog is smaller, however long that takes; so they
//                          must not hold a lock that a reader or a deleter takes
//   backlog_policy::warn   they go on; the library warns on stderr
inline void rcu_limit_backlog(detail::backlog_limit limit,
                              rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::limit_backlog(dom.core(), limit);
}

// The library warns on stderr, once for each grace period and domain, of a grace period that has
// been waiting for a reader for so long: which thread that is, and how much waits. It also warns of
// deleters that take more than a second. 10 s at first, or what READMOST_RCU_STALL_LIMIT says, in
// milliseconds; 0: never warns. For all domains.
inline void rcu_warn_of_stalls_after(std::chrono::nanoseconds limit) noexcept {
  const auto nanoseconds = limit.count();
  detail::warn_of_stalls_after(nanoseconds > 0 ? static_cast<std::uint64_t>(nanoseconds) : 0);
}

// Sets how many threads of the library may run deleters of `dom` at a time; 4 at first. A second
// one takes over only while a deleter takes long, see above. 1, or 0: the deleters of the domain
// never run side by side, and one that takes long delays all. Threads that are there already stay.
// Does not apply to deleters that the program's own threads run.
inline void rcu_limit_reclaimers(unsigned most, rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::limit_reclaimers(dom.core(), most);
}

// Sets which thread runs deleters. In place: no thread is started; deleters run in retire,
// rcu_retire and rcu_barrier, outside of sections. A thread that retires then reclaims, after every
// 64 objects, those whose grace period has passed, and rcu_barrier() the rest.
// READMOST_RCU_THREAD=0 in the environment does the same. On request: deleters run where the
// program calls rcu_reclaim(), say in its own thread pool or event loop, in rcu_barrier(), and at
// the end of the process. Precondition: nothing has been retired in `dom` yet.
inline void rcu_reclaim_by(detail::reclaiming who,
                           rcu_domain& dom = rcu_default_domain()) noexcept {
  detail::reclaim_by(dom.core(), who);
}

// The hook for an executor of the program's own: reclaims in the calling thread the objects whose
// grace period is over, without waiting, unless another thread reclaims at present; does nothing
// inside sections of `dom` and its deleters. Returns whether objects are left: then it has to be
// called again. For domains whose objects are reclaimed on request, which depend on it; allowed in
// all.
inline bool rcu_reclaim(rcu_domain& dom = rcu_default_domain()) noexcept {
  return detail::reclaim_over(dom.core());
}

// Counts since the process began; exact when no thread is retiring.
inline detail::rcu_statistics rcu_statistics_of(rcu_domain& dom = rcu_default_domain()) noexcept {
  return detail::statistics_of(dom.core());
}

}  // namespace readmost
