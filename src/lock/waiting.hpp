// A thread on its way to hold a lock: how long it spins before it sleeps, how the lock's state
// counts it meanwhile, and how its wait is reported to statistics.
#pragma once

#include <bit>
#include <readmost/detail/threads/spinning.hpp>

#include "lock/holds.hpp"
#include "lock/waking.hpp"
#include "platform/probes.hpp"

namespace readmost::detail {

// Spins with exponential back-off.
class spinner {
 public:
  // Spins for a while and reports meanwhile; false when it is time to sleep. `brief`: the thread
  // waits for what takes less than a microsecond: a revocation, or other readers that changed the
  // lock's state first.
  bool spin(bool brief) noexcept {
    if (spent_ >= platform::spins(budget)) return false;
    pause_ = pause_ == 0 ? 1 : 2 * pause_;
    if (!brief && pause_ < first) pause_ = first;
    const std::uint32_t most = brief ? longest_brief : longest;
    if (pause_ > most) pause_ = most;
    pass(pause_);
    spent_ += pause_;
    return true;
  }

  // From now on as rarely as after a long time.
  void slow_down() noexcept { pause_ = longest; }

  // Whether it has spun for longer than a running thread takes to leave a short critical section.
  bool has_been_long() const noexcept { return spent_ >= platform::spins(long_wait); }

  void restart() noexcept { spent_ = pause_ = 0; }

  static void pass_briefly() noexcept { pass(longest_brief); }

 private:
  // In units of 20 ns.
  static constexpr std::uint32_t first = 32;
  static constexpr std::uint32_t longest = 512;
  static constexpr std::uint32_t longest_brief = 16;
  static constexpr std::uint32_t budget = 600;
  static constexpr std::uint32_t long_wait = 64;

  static void pass(std::uint32_t units) noexcept {
    const std::uint32_t turns = platform::pauses(units);
    for (std::uint32_t i = 0; i < turns; ++i) {
      report_if_asked();
      platform::relax();
    }
  }

  std::uint32_t spent_ = 0;
  std::uint32_t pause_ = 0;
};

// What readers and writers that wait have in common.
class waiter {
 public:
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

 protected:
  // `as`: how the state counts the thread, once it does. `may_stay_away`: see stays_away().
  waiter(rwlock& lock, thread_record* me, rules how, waits_as as, bool may_stay_away) noexcept
      : lock_(lock), me_(me), how_(how), as_(as), may_stay_away_(may_stay_away && me != nullptr) {}
  ~waiter() {
    if (waits_) [[unlikely]]
      end_wait();
  }

  // --- What the lock's state says of this thread

  // Whether `state` has room for one more: it counts up to 8,191 of each kind, and one upgrader.
  bool can_be_counted(std::uint64_t state) const noexcept {
    const std::uint64_t field = as_ == waits_as::reader   ? rwlock::waiting_readers
                                : as_ == waits_as::writer ? rwlock::waiting_writers
                                                          : 0;
    return !counted_ && (field == 0 || (state & field) != field);
  }

  // Counts this thread, unless the state is no longer `state`.
  void join_queue(std::uint64_t state) noexcept {
    const std::uint64_t next = rwlock::with_waiter(state, as_);
    if (!lock_.state.compare_exchange_weak(state, next, platform::relaxed)) return;
    counted_ = true;
    put_on_record();
  }

  // Replaces `state` by `next`, which no longer counts this thread; false if the state has changed,
  // which is then in `state`.
  bool enter(std::uint64_t& state, std::uint64_t next, std::memory_order order) noexcept {
    take_off_record();
    if (lock_.state.compare_exchange_strong(state, next, order, platform::relaxed)) return true;
    put_on_record();
    return false;
  }

  // For exits that do not change the state otherwise.
  void leave_queue() noexcept {
    if (!counted_ && !asks_) return;
    take_off_record();
    open_door(lock_, how_.prefers, platform::relaxed, [&](std::uint64_t state) {
      if (asks_) state = rwlock::without_waiter(state, waits_as::next_writer);
      return counted_ ? rwlock::without_waiter(state, as_) : state;
    });
  }

  // Notes in the thread's record how the state counts it, for a fork's child, in which the thread
  // does not wait. Where the two differ for a moment, a child takes the thread for a waiter, which
  // does no harm.
  void put_on_record() const noexcept {
    if (me_ == nullptr || (!counted_ && !asks_)) return;
    const waits_as as = counted_ ? as_ : waits_as::next_writer;
    me_->waiting_in.store(address(lock_) | static_cast<std::uintptr_t>(as), platform::relaxed);
  }
  void take_off_record() const noexcept {
    if (me_ != nullptr && (counted_ || asks_)) me_->waiting_in.store(0, platform::relaxed);
  }

  // --- Waiting

  // For statistics and probes.
  void begin_wait() noexcept {
    if (waits_) return;
    waits_ = true;
    if (as_ == waits_as::reader) {
      READMOST_PROBE(read_contention, &lock_);
    } else {
      READMOST_PROBE(write_contention, &lock_);
    }
    if (lock_statistics_on()) since_ = platform::now();
  }

  // One step of a wait that does not take a sleep, after a look has found the lock closed by
  // `state`; false if it is time to sleep. After a sleep that did not help it is no use to spin.
  bool waits_awake(std::uint64_t state, bool to_be_counted) noexcept {
    const bool brief = (state & rwlock::claiming) != 0;
    if (!brief && stays_away()) return true;
    if (to_be_counted) {
      join_queue(state);
      return true;
    }
    return !has_slept_ && spin_.spin(brief);
  }

  // Sleeps until another thread opens the door, unless the state is no longer `state`, which
  // becomes `parked`. sleep(expected): the system call, for that low half of the state.
  template <class Sleep>
  void park(std::uint64_t state, std::uint64_t parked, Sleep sleep) noexcept {
    if (parked != state && !lock_.state.compare_exchange_weak(state, parked, platform::relaxed)) {
      return;
    }
    go_offline();
    if (me_ != nullptr) clear_moved_holds(*me_);
    has_slept_ = true;
    expired_ = sleep(static_cast<std::uint32_t>(parked)) == platform::wake_reason::timed_out;
  }

  rwlock& lock_;
  thread_record* const me_;
  const rules how_;
  const waits_as as_;
  bool counted_ = false;  // in the state
  bool asks_ = false;     // to be next, by `handoff`
  bool has_slept_ = false;
  bool expired_ = false;  // the caller's deadline has passed
  spinner spin_;

 private:
  // In nanoseconds.
  static constexpr std::uint64_t at_once = 1'500;
  static constexpr std::uint64_t right_after = 4'000;
  static constexpr std::uint64_t away = 800'000;
  static constexpr std::uint64_t between_looks = 8'000;
  static constexpr std::uint64_t between_looks_in_a_crowd = 20'000;
  static constexpr int enough_free_looks = 10;
  static constexpr std::uint64_t excused = 400'000;

  void end_wait() const noexcept {
    const std::uint64_t now = platform::now();
    if (kept_out_ && !is_excused(now)) remember_wait(now);
    const bool writer = as_ != waits_as::reader;
    const std::uint64_t waited = since_ != 0 ? now - since_ : 0;
    if (since_ != 0) note_wait(address(lock_), writer, waited);
    READMOST_PROBE(wait_end, &lock_, static_cast<int>(writer), waited);
  }

  // Called before the lock's state counts the thread: whoever is counted keeps others out. True if
  // the thread has stayed away, so that it has to look again.
  //
  // A thread that has to wait for a lock again right after it got it reads the lock rarely: such a
  // lock is so busy that two threads achieve less with it than one, because its line keeps moving
  // between them. The thread stays away for some ten microseconds, and for most of a millisecond if
  // it comes back almost at once, unless the lock's preference or the caller's deadline bounds its
  // wait. Where threads outnumber the CPUs, shorter absences cost throughput: with 0.2 ms it is 0.8
  // of glibc's, whose waiters sleep.
  bool stays_away() noexcept {
    if (kept_out_ || !may_stay_away_) return false;
    kept_out_ = true;
    if (me_->waited_for != address(lock_)) return false;
    const std::uint64_t now = platform::now();
    const std::uint64_t since = now - me_->waited_until;
    if (is_excused(now) || since >= right_after ||
        (how_.until != nullptr && platform::time_left(*how_.until) <= away)) {
      return false;
    }
    if (since >= at_once) {
      spin_.slow_down();
      return false;
    }
    stay_away();
    return true;
  }

  // Whether the thread need not stay away from this lock, because it has lately done so in vain:
  // until then, which is noted as the end of its last wait.
  bool is_excused(std::uint64_t now) const noexcept {
    return me_->waited_for == address(lock_) &&
           static_cast<std::int64_t>(now - me_->waited_until) < 0;
  }

  void remember_wait(std::uint64_t end) const noexcept {
    me_->waited_for = address(lock_);
    me_->waited_until = end;
  }

  // Whether there may be more threads than CPUs. Checks one chunk of records only.
  bool is_crowded() const noexcept {
    const std::uint64_t used = chunk_of(*me_).used.load(platform::relaxed);
    return used == ~std::uint64_t{0} ||
           static_cast<unsigned>(std::popcount(used)) > platform::usable_cpus();
  }

  // For `away`, or until a look finds the lock without a writer, and no writer has left it since
  // the look before: perhaps all who want it stay away, or nobody but readers is there. If every
  // thread has a CPU, also until several looks in turn find the lock free: it is not that busy, and
  // the thread is excused from staying away for a while. In a crowd it may be free because those
  // who use it do not run.
  void stay_away() const noexcept {
    const bool crowded = is_crowded();
    const std::uint64_t interval = crowded ? between_looks_in_a_crowd : between_looks;
    std::uint64_t next_look = platform::now() + interval;
    std::uint16_t exits = lock_.writer_exits.load(platform::relaxed);
    int free_looks = 0;
    const auto is_over = [&] {
      const std::uint64_t now = platform::now();
      if (now < next_look) return false;
      next_look = now + interval;
      const std::uint64_t state = lock_.state.load(platform::relaxed);
      const bool written = (state & rwlock::writing) != 0;
      const std::uint16_t before = exits;
      exits = lock_.writer_exits.load(platform::relaxed);
      if (exits == before && !written) return true;
      free_looks = written || rwlock::readers(state) != 0 ? 0 : free_looks + 1;
      if (free_looks < enough_free_looks || crowded) return false;
      remember_wait(now + excused);
      return true;
    };
    spin_for(away, is_over, [](std::uint32_t) { spinner::pass_briefly(); });
  }

  const bool may_stay_away_;
  bool kept_out_ = false;  // by a thread that has to leave first
  bool waits_ = false;
  std::uint64_t since_ = 0;  // for statistics
};

}  // namespace readmost::detail
