// SPDX-License-Identifier: Apache-2.0
// How long a lock operation spins before it sleeps, and how its wait is reported to statistics.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>
#include <readmost/detail/threads/spinning.hpp>

#include "lock/absence.hpp"
#include "lock/company.hpp"
#include "platform/known_cpus.hpp"
#include "platform/probes.hpp"
#include "statistics/contention_profile.hpp"
#include "statistics/lock_statistics.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

// Spins with exponential back-off. A thread that has to wait for a lock again right after it got it
// reads the lock rarely: such a lock is so busy that two threads achieve less with it than one,
// because its line keeps moving between them. The thread stays away for some ten microseconds, and
// for most of a millisecond if it comes back almost at once, unless the lock's preference bounds
// its wait. Where many threads have CPUs it spins first, and sleeps if the lock stays busy.
//
// Where threads may outnumber the CPUs it sleeps meanwhile: one that spins keeps the CPU from
// threads that have something to do, perhaps from the one that holds the lock. But the others may
// be idle, and then nobody uses the CPU that it leaves: once it knows how long its operations take
// without company, it stays away only if one thread alone would do more (company.hpp).
class spinner {
 public:
  // `until`: the caller's deadline, or null.
  spinner(thread_record* me, const rwlock& lock, bool may_stay_away,
          const platform::deadline* until = nullptr) noexcept
      : me_(me), lock_(lock), may_stay_away_(may_stay_away), until_(until) {}
  ~spinner() {
    if (!waited_ || me_ == nullptr) return;
    const std::uint64_t now = platform::now();
    company::end_wait(*me_, lock_, wait_began_, now);
    if (has_waited_before() && since_last_wait(now) < 0) return;
    me_->waited_for = address_of_lock();
    me_->waited_until = now;
  }
  spinner(const spinner&) = delete;
  spinner& operator=(const spinner&) = delete;

  // To be called when the thread has to wait for another one to leave, before the lock's state
  // counts it: whoever is counted keeps others out. Calls before_sleep() if it is to sleep. True if
  // the thread has stayed away, so that it has to look again.
  template <class BeforeSleep>
  bool has_stayed_away(BeforeSleep before_sleep) noexcept {
    if (waited_ || !may_stay_away_) return false;
    if (until_ != nullptr && platform::time_left(*until_) <= absence::shortest) {
      may_stay_away_ = false;
      return false;
    }
    waited_ = true;
    if (me_ == nullptr || !has_waited_before()) return false;
    wait_began_ = platform::now();
    const company::benefit together = company::benefit_of_stretch(*me_, lock_, wait_began_);
    const std::int64_t since = since_last_wait(wait_began_);
    const bool many = run_many();
    // Where many threads run, an operation waits for the lock's line that much longer.
    const std::int64_t longer = many ? 8 : 1;
    const bool is_soon = since >= 0 && since < longer * right_after;
    if (!is_soon && together != company::benefit::none) return false;
    const bool crowded = is_crowded();
    if (crowded && together != company::benefit::unknown) {
      if (together == company::benefit::some) return false;
    } else if (!is_soon) {
      return false;
    } else if (since >= longer * at_once) {
      pause_ = longest;
      return false;
    }
    if (!crowded) {
      if (spin_away()) return true;
      if (!many) {
        // A thread that has been away for all that time need not go again for as long: then those
        // that it keeps out stay away, so that threads of either kind use the lock in turns.
        excuse_until(platform::now() + absence::shortest);
        return true;
      }
    }
    before_sleep();
    sleep_away();
    return true;
  }

  // Spins for a while and reports meanwhile; false when it is time to sleep. `brief`: the thread
  // waits for what takes less than a microsecond on most machines: a revocation, or other readers
  // that changed the lock's state first.
  [[gnu::noinline]] bool spin(bool brief) noexcept {
    std::uint32_t& spent = brief ? spent_briefly_ : spent_;
    if (spent >= platform::spins(budget) && !(brief && spent < budget_of_revocation())) {
      return false;
    }
    pause_ = pause_ == 0 ? 1 : 2 * pause_;
    if (!brief && pause_ < first) pause_ = first;
    const std::uint32_t most = brief ? longest_brief : longest;
    if (pause_ > most) pause_ = most;
    pass(pause_);
    spent += pause_;
    return true;
  }

  // Whether it has spun for longer than a running thread takes to leave a short critical section.
  bool has_been_long() const noexcept {
    return spent_ + spent_briefly_ >= platform::spins(long_wait);
  }

  // After a sleep.
  void restart() noexcept { spent_ = spent_briefly_ = pause_ = 0; }

 private:
  // In units of 20 ns.
  static constexpr std::uint32_t first = 32;
  static constexpr std::uint32_t longest = 512;
  static constexpr std::uint32_t longest_brief = 16;
  static constexpr std::uint32_t budget = 600;
  static constexpr std::uint32_t long_wait = 64;

  // In nanoseconds.
  static constexpr std::int64_t at_once = 1'500;
  static constexpr std::int64_t right_after = 4'000;
  static constexpr std::uint64_t between_looks = 8'000;
  static constexpr int enough_free_looks = 10;
  static constexpr std::uint64_t excused = 400'000;

  // A revocation takes some time for each thread that may hold a lock of the domain: where there
  // are hundreds, more than `budget`. Those who slept then would have to be woken one by one.
  std::uint32_t budget_of_revocation() const noexcept {
    constexpr std::uint32_t unit = 20;
    return platform::spins(budget +
                           4 * domains[lock_.domain].round_cost.load(platform::relaxed) / unit);
  }

  // Whether this lock is the last one that the thread waited for, until since_last_wait()
  // nanoseconds ago. Negative: the thread is excused from staying away, because it has lately done
  // so; then `waited_until` is to come.
  bool has_waited_before() const noexcept { return me_->waited_for == address_of_lock(); }
  std::int64_t since_last_wait(std::uint64_t now) const noexcept {
    return static_cast<std::int64_t>(now - me_->waited_until);
  }

  std::uintptr_t address_of_lock() const noexcept {
    return reinterpret_cast<std::uintptr_t>(&lock_);
  }

  // Whether as many threads as a chunk has records may run at a time.
  bool run_many() const noexcept {
    return threads_in(chunk_of(*me_)) == chunk::capacity && known_cpus() >= chunk::capacity;
  }

  // Whether there may be more threads than CPUs. Checks one chunk of records only, unless many
  // threads run.
  [[gnu::noinline]] bool is_crowded() const noexcept {
    const unsigned cpus = platform::usable_cpus();
    if (!run_many()) return threads_in(chunk_of(*me_)) > cpus;
    unsigned threads = 0;
    return !for_each_chunk(domain_of(*me_), [&](const chunk& records) {
      threads += threads_in(records);
      return threads <= cpus;
    });
  }

  // Whether no writer has left the lock since the look before, which saw `exits`: perhaps all who
  // want it stay away, or nobody but readers is there, or one writer that stays for long.
  bool is_quiet(std::uint16_t& exits) const noexcept {
    const std::uint16_t before = exits;
    exits = lock_.writer_exits.load(platform::relaxed);
    return exits == before;
  }

  // Until the lock is quiet. Looks only now and then, because the thread has to wake up to look. A
  // lock that is free at these looks may be busy all the same: those who use it may lack a CPU.
  [[gnu::noinline]] void sleep_away() const noexcept {
    constexpr unsigned looks = 2;
    std::uint64_t time = absence::begin(lock_);
    if (until_ != nullptr) {
      const std::uint64_t left = platform::time_left(*until_);
      if (time > left / 2) time = left / 2;
    }
    std::uint16_t exits = lock_.writer_exits.load(platform::relaxed);
    for (unsigned look = 0; look < looks; ++look) {
      platform::sleep_for(time / looks);
      if (is_quiet(exits)) break;
    }
    absence::end(lock_);
  }

  // Until the lock is quiet, or until several looks in turn find it free: it is not that busy, and
  // the thread is excused from staying away for a while. False if it was neither in all that time.
  [[gnu::noinline]] bool spin_away() const noexcept {
    std::uint64_t next_look = platform::now() + between_looks;
    std::uint16_t exits = lock_.writer_exits.load(platform::relaxed);
    int free_looks = 0;
    const auto is_over = [&] {
      const std::uint64_t now = platform::now();
      if (now < next_look) return false;
      next_look = now + between_looks;
      if (is_quiet(exits)) return true;
      const std::uint64_t state = lock_.state.load(platform::relaxed);
      const bool free = (state & rwlock::writing) == 0 && rwlock::readers(state) == 0;
      free_looks = free ? free_looks + 1 : 0;
      if (free_looks < enough_free_looks) return false;
      excuse_until(now + excused);
      return true;
    };
    return spin_for(absence::shortest, is_over, [](std::uint32_t) { pass(longest_brief); });
  }

  void excuse_until(std::uint64_t end) const noexcept {
    me_->waited_for = address_of_lock();
    me_->waited_until = end;
  }

  static void pass(std::uint32_t units) noexcept {
    const std::uint32_t turns = platform::pauses(units);
    for (std::uint32_t i = 0; i < turns; ++i) {
      report_if_asked();
      platform::relax();
    }
  }

  thread_record* me_;
  const rwlock& lock_;
  bool may_stay_away_;
  const platform::deadline* const until_;
  bool waited_ = false;
  std::uint64_t wait_began_ = 0;  // 0 if nobody has looked at the clock
  std::uint32_t spent_ = 0;
  std::uint32_t spent_briefly_ = 0;
  std::uint32_t pause_ = 0;
};

// Tells statistics, the profile and probes about the wait of one operation.
class wait_watch {
 public:
  wait_watch(const rwlock& lock, bool writer) noexcept : lock_(lock), writer_(writer) {}
  ~wait_watch() {
    if (waiting_) [[unlikely]]
      stop();
  }
  wait_watch(const wait_watch&) = delete;
  wait_watch& operator=(const wait_watch&) = delete;

  void start() noexcept {
    if (waiting_) return;
    waiting_ = true;
    if (writer_) {
      READMOST_PROBE(write_contention, &lock_);
    } else {
      READMOST_PROBE(read_contention, &lock_);
    }
    if (lock_delays_noted()) {
      since_ = platform::now();
      revoking_ = 0;
      stack_ = nullptr;
    }
  }

  // The profile takes the stack now, when that delays nobody. Precondition: started.
  void before_sleep() noexcept {
    if (since_ != 0 && stack_ == nullptr) take_stack();
  }

  // Precondition: lock_delays_noted().
  [[gnu::noinline]] void note_revocation(std::uint64_t nanoseconds, round_kind how) noexcept {
    if (lock_statistics_on()) detail::note_revocation(address(lock_), nanoseconds, how);
    profile_table* const profile = profile_in_force();
    if (profile == nullptr) return;
    profile_delay(*profile, address(lock_), delay_kind::revocation, nanoseconds, nullptr);
    if (since_ != 0) revoking_ += nanoseconds;
  }

 private:
  delay_kind kind() const noexcept {
    return writer_ ? delay_kind::write_wait : delay_kind::read_wait;
  }

  [[gnu::noinline]] void take_stack() noexcept {
    if (profile_table* const profile = profile_in_force()) {
      stack_ = profiled_stack(*profile, address(lock_), kind());
    }
  }

  void stop() const noexcept {
    const std::uint64_t waited = since_ != 0 ? platform::now() - since_ : 0;
    if (since_ != 0) tell(waited);
    READMOST_PROBE(wait_end, &lock_, static_cast<int>(writer_), waited);
  }

  [[gnu::noinline]] void tell(std::uint64_t waited) const noexcept {
    if (lock_statistics_on()) note_wait(address(lock_), writer_, waited);
    if (profile_table* const profile = profile_in_force()) {
      profile_delay(*profile, address(lock_), kind(), waited > revoking_ ? waited - revoking_ : 0,
                    stack_);
    }
  }

  const rwlock& lock_;
  std::uint64_t since_ = 0;
  // These two are there if `since_` is.
  std::uint64_t revoking_;  // of the wait, in the profile on its own account
  profile_stack* stack_;
  bool writer_;
  bool waiting_ = false;
};

}  // namespace readmost::detail
