// SPDX-License-Identifier: Apache-2.0
// How long a lock operation spins before it sleeps, and how its wait is reported to statistics.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

#include "platform/known_cpus.hpp"
#include "platform/probes.hpp"
#include "statistics/contention_profile.hpp"
#include "statistics/lock_statistics.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

// Whether there are more threads than `cpus`. Checks one chunk of records only, that of `me`,
// unless many threads run.
bool outnumber(const thread_record& me, unsigned cpus) noexcept;

// Whether one of the threads, for instance one that others wait for, may lack a CPU. `me` may be
// null.
inline bool may_lack_cpus(const thread_record* me) noexcept {
  return me != nullptr && outnumber(*me, known_cpus());
}

// Whether there may be more threads than CPUs of the caller, for which it asks the kernel.
inline bool is_crowded(const thread_record& me) noexcept {
  return outnumber(me, platform::usable_cpus());
}

struct spin_options {
  bool may_stay_away = false;
  // Whether writers that wait keep the thread out, and so all threads of its kind.
  bool behind_writers = false;
  const platform::deadline* until = nullptr;  // the caller's, or null
};

// Spins with exponential back-off. A thread that has to wait for a lock again soon after it got it
// may stay away from it: such a lock may be so busy that two threads achieve less with it than one,
// because its line keeps moving between them. Whether they do is measured (company.hpp); until that
// is known, a thread that comes back almost at once stays away, and one that comes back a little
// later looks rarely. It stays away for most of a millisecond, unless the lock's preference bounds
// its wait and threads have CPUs. Where two threads get more done than one, it looks often. Where
// many threads have CPUs it spins first, and sleeps if the lock stays busy. It does not stay away
// from a lock that is biased but for its writers: that line moves at writes alone.
//
// Where threads may outnumber the CPUs it sleeps meanwhile: one that spins keeps the CPU from
// threads that have something to do, perhaps from the one that holds the lock. But the others may
// be idle, and then nobody uses the CPU that it leaves: so it stays away only if one thread alone
// would do more.
class spinner {
 public:
  spinner(thread_record* me, const rwlock& lock, spin_options how = {}) noexcept
      : me_(me), lock_(lock), how_(how) {}
  ~spinner() {
    if (waited_ && me_ != nullptr) note_end_of_wait();
  }
  spinner(const spinner&) = delete;
  spinner& operator=(const spinner&) = delete;

  // To be called when the thread has to wait for another one to leave, before the lock's state
  // counts it: whoever is counted keeps others out. `state`: the lock's. Calls before_sleep() if it
  // is to sleep. True if the thread has stayed away, so that it has to look again.
  template <class BeforeSleep>
  bool has_stayed_away(std::uint64_t state, BeforeSleep before_sleep) noexcept {
    if (has_asked_) return false;
    has_asked_ = true;
    const absence_kind chosen = stay_or_spin_away((state & rwlock::revoked) != 0);
    if (chosen != absence_kind::asleep) return chosen == absence_kind::over;
    before_sleep();
    sleep_away();
    wait_began_ = 0;  // what follows is the wait
    return true;
  }

  // Spins for a while and reports meanwhile; false when it is time to sleep. `brief`: the thread
  // waits for what takes less than a microsecond on most machines: a revocation, or other readers
  // that changed the lock's state first. `writers`: how many wait for the lock. The more they
  // are, the longer a pause may be, since each look takes the lock's line from the writer inside.
  bool spin(bool brief, std::uint32_t writers = 0) noexcept;

  // Whether it has spun for longer than a running thread takes to leave a short critical section.
  bool has_been_long() const noexcept {
    return spent_ + spent_briefly_ >= platform::spins(long_wait);
  }

  // Makes further spins short ones.
  void look_often() noexcept { first_ = longest_ = longest_brief; }

  // The thread is to sleep now.
  void give_up() noexcept { spent_ = budget; }

  // After a sleep.
  void restart() noexcept { spent_ = spent_briefly_ = extended_ = pause_ = 0; }

 private:
  enum class absence_kind {
    none,
    over,    // it was spun through
    asleep,  // to come
  };

  // Decides whether the thread stays away. `bias_may_return`: the writer inside may give it back.
  absence_kind stay_or_spin_away(bool bias_may_return) noexcept;

  // The same where threads may outnumber the CPUs, and where they do not.
  absence_kind stay_away_among_many() noexcept;
  absence_kind stay_away_beside_others(bool bias_may_return) noexcept;

  void note_end_of_wait() const noexcept;

  // In units of 20 ns.
  static constexpr std::uint32_t first = 32;
  static constexpr std::uint32_t longest = 512;
  static constexpr std::uint32_t longest_brief = 16;
  // For each writer that waits: as long as the lock's line takes to come and go.
  static constexpr std::uint32_t longest_of_each = 5;
  // Where it is as well to look often (company::pair_judgment).
  static constexpr std::uint32_t first_of_often = 2;
  static constexpr std::uint32_t longest_of_paid = 4;
  // The sum of the pauses of who looks rarely; who looks often spins for as long.
  static constexpr std::uint32_t budget = first + 2 * first + 4 * first + 8 * first + longest;
  static constexpr std::uint32_t budget_of_brief = 600;
  static constexpr std::uint32_t long_wait = 64;

  // In nanoseconds.
  static constexpr std::int64_t at_once = 1'500;
  static constexpr std::int64_t right_after = 4'000;
  static constexpr std::uint64_t between_looks = 8'000;
  static constexpr int enough_free_looks = 10;
  static constexpr std::uint64_t excused = 400'000;

  // A revocation takes some time for each thread that may hold a lock of the domain: where there
  // are hundreds, more than `budget_of_brief`. Those who slept then would have to be woken one by
  // one.
  std::uint32_t budget_of_revocation() const noexcept;

  // Whether it goes on although it has spun for as long as `usual`. Where many threads have CPUs
  // each waits for many short writes, and sleeps that all begin at once keep the lock's line from
  // its writers for longer than those would take. So a spin may last one time longer for every 32
  // threads, as long as writers leave meanwhile, but not if the caller has a deadline. Chosen by
  // simulation, as is that preferred readers and their writers do not: docs/scaling.md.
  bool goes_on(std::uint32_t usual) noexcept;

  // Whether this lock is the last one that the thread waited for, until since_last_wait()
  // nanoseconds ago. Negative: the thread is excused from staying away, because it has lately done
  // so; then `waited_until` is to come.
  bool has_waited_before() const noexcept { return me_->waited_for == address(lock_); }
  std::int64_t since_last_wait(std::uint64_t now) const noexcept {
    return static_cast<std::int64_t>(now - me_->waited_until);
  }

  // Whether that was so recently, by the time when this wait began. The second is true for
  // `at_once`; if the thread comes back soon but later, it is to pause for long.
  bool is_within(std::int64_t time) const noexcept;
  bool comes_back_soon() const noexcept { return is_within(right_after); }
  bool comes_back_at_once() noexcept;

  // Whether no writer has left the lock since the look before, which saw `exits`: perhaps all who
  // want it stay away, or nobody but readers is there, or one writer that stays for long.
  bool is_quiet(std::uint16_t& exits) const noexcept;

  // Until the lock is quiet. Looks only now and then, because the thread has to wake up to look. A
  // lock that is free at these looks may be busy all the same: those who use it may lack a CPU.
  void sleep_away() const noexcept;

  // Until the lock is quiet, or until several looks in turn find it free: it is not that busy, and
  // the thread is excused from staying away for a while. False if it was neither in all that time.
  bool spin_away() const noexcept;

  // Remembers the wait. An `end` to come excuses the thread until then.
  void waited_until(std::uint64_t end) const noexcept;

  static void pass(std::uint32_t units) noexcept;

  thread_record* me_;
  const rwlock& lock_;
  spin_options how_;
  bool has_asked_ = false;  // whether to stay away
  bool waited_ = false;
  std::uint64_t wait_began_ = 0;  // 0 if nobody has looked at the clock
  std::uint32_t spent_ = 0;
  std::uint32_t spent_briefly_ = 0;
  std::uint32_t pause_ = 0;
  std::uint32_t extended_ = 0;    // until when it goes on
  std::uint16_t exits_seen_ = 0;  // when the spin, or its last extension, began
  std::uint32_t first_ = first;
  std::uint32_t longest_ = longest;
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
