// SPDX-License-Identifier: Apache-2.0
// percpu_rw_semaphore: readers count themselves per CPU, and a writer first waits for a grace
// period.
//
// Source: Linux 3.8 lib/percpu-rwsem.c and include/linux/percpu-rwsem.h (M. Patocka, O. Nesterov,
// 2012: a reader in fast_read_ctr or in slow_read_ctr); Chen et al., FCP (IEEE TPDS 27(10), 2016),
// section 2 "Percpu-rwlock".
//
// A reader that sees no writer adds one to its own counter, inside a read section of RCU. A writer
// announces itself and waits for a grace period: from then on every reader goes by a common counter
// under the semaphore that the writer holds, and the own counters do not change. It adds them up
// and waits until their sum with the common one is zero.
//
// The grace period is Readmost's (synchronize() of the process's domain, in a hurry, as the
// kernel's synchronize_sched_expedited()): it waits for read sections, which a membarrier does not,
// and a thread here may be preempted between its check for a writer and its count, as a CPU of the
// kernel cannot. It takes microseconds where the kernel's takes milliseconds; this lock's writers
// are thus better here than in the paper.
//
// Simplified: counters belong to threads by their number (home.hpp), threads beyond them take the
// slow path; the semaphore is a mutex, which readers hold for one instruction; instead of the
// second grace period, in up_write(), the load of the writers' count is an acquire, which x86 has
// for nothing. try_lock() is not the kernel's: it waits for the grace period, and gives up if there
// are readers.
//
// Reader: four plain stores to lock and four to unlock, no atomic, no fence; while a writer is
// present, the mutex and two atomics. Writer: a grace period and a load of every counter.
// Preference: writers. Recursive read locks: only while no writer waits. The caller is in no read
// section of RCU. Size: a line, and a line per counter, two for each CPU.
#pragma once

#include <readmost/detail/rcu/grace_period.hpp>
#include <readmost/detail/rcu/read_section.hpp>

#include "rivals/home.hpp"

namespace rivals {

class percpu_rwlock : immovable<percpu_rwlock> {
 public:
  percpu_rwlock() noexcept : percpu_rwlock(seats()) {}
  // For so many threads with counters of their own.
  explicit percpu_rwlock(unsigned counters) noexcept : own_readers_(counters) {}

  void lock() noexcept {
    announce();
    semaphore_.lock();
    settle();
    wait_until([this] { return readers_.load(platform::acquire) == 0; });
  }
  bool try_lock() noexcept {
    if (semaphore_.is_locked()) return false;
    announce();
    if (semaphore_.try_lock()) {
      settle();
      if (readers_.load(platform::acquire) == 0) return true;
      semaphore_.unlock();
    }
    writers_.fetch_sub(1, platform::release);
    return false;
  }
  void unlock() noexcept {
    semaphore_.unlock();
    writers_.fetch_sub(1, platform::release);
  }

  void lock_shared() noexcept {
    if (count_own(1)) return;
    semaphore_.lock();
    readers_.fetch_add(1, platform::relaxed);
    semaphore_.unlock();
  }
  bool try_lock_shared() noexcept {
    if (count_own(1)) return true;
    if (!semaphore_.try_lock()) return false;
    readers_.fetch_add(1, platform::relaxed);
    semaphore_.unlock();
    return true;
  }
  void unlock_shared() noexcept {
    if (!count_own(-1)) readers_.fetch_sub(1, platform::release);
  }

  static constexpr std::size_t footprint(unsigned cpus) noexcept {
    return sizeof(percpu_rwlock) + decltype(own_readers_)::footprint(seats_for(cpus));
  }

 private:
  // Adds to the calling thread's counter, unless there is a writer.
  bool count_own(std::int32_t by) noexcept {
    const unsigned number = my_number();
    if (number >= own_readers_.size()) return false;
    readmost::detail::thread_record& me = readmost::detail::my_record();
    readmost::detail::enter_section(me, 0);
    const bool no_writer = writers_.load(platform::acquire) == 0;
    if (no_writer) {
      auto& own = own_readers_[number];
      own.store(own.load(platform::relaxed) + by, platform::relaxed);
    }
    readmost::detail::leave_section(me, 0);
    return no_writer;
  }

  // Afterwards all readers see the writer, and this writer sees all their counts, and the accesses
  // of readers that have left.
  void announce() noexcept {
    writers_.fetch_add(1, platform::relaxed);
    readmost::detail::synchronize(readmost::detail::default_domain,
                                  readmost::detail::urgency::hurry);
  }

  // Moves the readers' own counters, which no longer change, into the common counter.
  void settle() noexcept {
    std::int32_t sum = 0;
    for (unsigned i = 0; i < own_readers_.size(); ++i) {
      sum += own_readers_[i].load(platform::relaxed);
      own_readers_[i].store(0, platform::relaxed);
    }
    readers_.fetch_add(sum, platform::acquire);
  }

  alignas(platform::cache_line) platform::atomic<std::uint32_t> writers_{0};
  // The readers that entered without counting in a counter of their own, minus those counted there
  // that have left through this one.
  platform::atomic<std::int32_t> readers_{0};
  spin_mutex semaphore_;
  spread_array<platform::atomic<std::int32_t>> own_readers_;
};

}  // namespace rivals
