// The slow path of a read lock (first use, a lock without bias, occupied slots, waiting), and how a
// lock gets its bias.
#include "lock/bias.hpp"
#include "lock/observation.hpp"
#include "lock/waiting.hpp"

namespace readmost::detail {

namespace {

// Whether other threads exist, so that the lock's line may have to come from another core. Checks
// one chunk of records only.
bool has_company(const thread_record& me) noexcept {
  return (chunk_of(me).used.load(platform::relaxed) & ~bit(number_of(me))) != 0;
}

// Returns how many active reads are to be credited. A thread's first periods are short: where
// hundreds of threads start to read one lock, most of a millisecond would pass before enough of
// them have read it 48 times. Later their length varies, or the updates of a thread that reads
// locks in turn might always meet the same one.
std::int32_t start_account_period(thread_record& me) noexcept {
  const std::int32_t reads = me.account_period.load(platform::relaxed);
  const std::uint64_t all = active_reads_of(me);
  constexpr std::int32_t variation = 16;
  const std::int32_t usual =
      active_reads_per_account - variation / 2 + static_cast<std::int32_t>(scattered(all) >> 60);
  const std::int32_t longer = 2 * reads + 2;
  const std::int32_t next = longer < usual ? longer : usual;
  me.active_reads.store(all, platform::relaxed);
  me.account_period.store(next, platform::relaxed);
  me.until_account.store(next, platform::relaxed);
  return reads;
}
static_assert(std::int32_t{1} << (64 - 60) == 16);

// Makes sure that no slot names the lock by a hold of an earlier life of its memory. False if
// another thread is at it.
bool is_unknown_to_slots(rwlock& lock) noexcept {
  // The orders here and in give_bias() have no letters: they keep the processor from clearing a
  // slot after the bias is there, which the checker cannot show, as it never delays a store.
  if ((lock.traits.load(platform::acquire) & rwlock::clean) != 0) return true;
  if ((lock.traits.fetch_or(rwlock::cleaning, platform::relaxed) & rwlock::cleaning) != 0)
    return false;
  if (!is_mutant(mutant::bias_over_old_slots)) {
    erase_passive_holds(domains[lock.domain], &lock);
  }
  lock.traits.fetch_or(rwlock::clean, platform::release);
  return true;
}

// Biases the lock; the caller holds it.
[[gnu::noinline]] void give_bias(rwlock& lock, rules how) noexcept {
  constexpr std::uint64_t in_the_way =
      rwlock::any_bias | rwlock::writing | rwlock::claiming | rwlock::wanted;
  for (;;) {
    // Before the look at the traits: if another thread forbids the bias after that look, the
    // compare-and-swap fails.
    std::uint64_t state = lock.state.load(platform::acquire);
    if (!bias::is_allowed(lock, how)) {
      lock.balance.store(bias::lowest, platform::relaxed);  // not to be asked at every read
      return;
    }
    if ((state & in_the_way) != 0 || !is_unknown_to_slots(lock)) return;
    std::uint64_t next = (state | bias::bit_to_give()) & ~rwlock::draining;
    const wake_up wake = wake_up::at_open_door(next, how.prefers);
    if (lock.state.compare_exchange_strong(state, next, platform::release, platform::relaxed)) {
      wake.carry_out(sleep_word(lock));
      return;
    }
  }
}

// Credits the account of a lock that is not biased with what its bias would have saved, debits it
// with the writes, and biases the lock if that is earned. The caller holds the lock.
[[gnu::always_inline]] inline void credit(rwlock& lock, rules how, std::int32_t saved) noexcept {
  if ((lock.state.load(platform::relaxed) & rwlock::any_bias) != 0) return;
  bias::debit_writes(lock);
  bias::add(lock.balance, saved);
  if (bias::is_earned(lock.balance)) give_bias(lock, how);
}

// A thread on its way to a read hold, when the fast paths have failed.
class reader : waiter {
 public:
  reader(rwlock& lock, thread_record* me, rules how) noexcept
      // Under phase-fair preference a reader waits for one writer at most.
      : waiter(lock, me, how, waits_as::reader, how.prefers != preference::phase_fair),
        holds_already_(how.recursive && holds_shared(me, lock)),
        exits_at_first_(lock.writer_exits.load(platform::relaxed)) {}

  outcome acquire() noexcept {
    for (;;) {
      std::uint64_t state = lock_.state.load(platform::relaxed);
      if ((state & rwlock::any_bias) != 0 && me_ != nullptr) {
        if (come_online(*me_) && lock_shared_nested(lock_, *me_)) return leave(outcome::acquired);
        state = lock_.state.load(platform::relaxed);
      }
      if (is_open(state)) {
        if (rwlock::is_full(state)) return leave(outcome::overflow);
        if (takes_active_hold(state)) return outcome::acquired;
        bias::credit_lost_race(lock_, state);
        has_lost_race_ = true;
        if (!spin_.spin(true)) spin_.restart();
        continue;
      }

      credit_passive_reads(state);
      if (how_.try_only) return outcome::busy;
      begin_wait();
      if (expired_) {
        return is_mutant(mutant::counted_for_ever) ? outcome::timed_out : leave(outcome::timed_out);
      }
      if (waits_awake(state, is_to_be_counted(state))) {
        // A waiting writer that could be inside may lack the CPU.
        if ((state & rwlock::writing) == 0 && spin_.has_been_long()) platform::yield();
      } else if (counted_ && starving_ && (state & rwlock::reader_phase) == 0) {
        begin_phase();
      } else {
        sleep(state);
      }
    }
  }

 private:
  bool is_open(std::uint64_t state) const noexcept {
    if ((state & rwlock::writing) != 0) return false;
    return holds_already_ || (((state & rwlock::claiming) == 0 || how_.try_only) &&
                              admits_readers(state, how_.prefers));
  }

  // False if the state is no longer `state`, which becomes what it is.
  bool takes_active_hold(std::uint64_t& state) noexcept {
    std::uint64_t next = state + rwlock::one_reader;
    if (counted_) next = rwlock::without_waiter(next, as_);
    const bool noted = me_ != nullptr && notes_holds(state);
    if (noted) note_hold(*me_, lock_);
    const bool over_passive = me_ != nullptr && note_over_passive_hold(*me_, lock_);
    // (J2) Pairs with (M).
    if (!enter(state, next, at(letter::J2, platform::acquire))) {
      if (over_passive) take_off_slots(lock_, *me_);
      if (noted) take_off_note(*me_, lock_);
      return false;
    }
    if (me_ == nullptr) return true;
    if (lock_statistics_on()) note_read(address(lock_), false);
    if (platform::take_one(me_->until_account)) {
      update_account(lock_, how_);
    } else if (has_lost_race_) {
      credit(lock_, how_, 0);  // what has been credited meanwhile may be enough
    }
    return true;
  }

  // Credits them once, when the reader sees a writer revoke the bias.
  void credit_passive_reads(std::uint64_t state) noexcept {
    if ((state & rwlock::claiming) == 0 || credited_ || me_ == nullptr) return;
    bias::credit_passive_reads(lock_, *me_, true);
    credited_ = true;
  }

  // A reader that was woken and found the lock taken again is counted: it gets a turn when the
  // writer leaves, under writer preference only if no other writer waits. Under phase-fair
  // preference every waiting reader is.
  bool is_to_be_counted(std::uint64_t state) const noexcept {
    return (has_slept_ || how_.prefers == preference::phase_fair) && can_be_counted(state);
  }

  // A counted reader that starves under writer preference gets its turn before writers that wait,
  // together with all that are counted.
  void begin_phase() noexcept {
    open_door(lock_, how_.prefers, platform::relaxed,
              [](std::uint64_t state) { return state | rwlock::reader_phase; });
  }

  outcome leave(outcome result) noexcept {
    leave_queue();
    return result;
  }

  // Under writer preference it looks after a millisecond, then less and less often, whether writers
  // have passed it over, unless the caller's deadline comes first.
  void sleep(std::uint64_t state) noexcept {
    const bool looks = how_.prefers == preference::writer && !starving_ &&
                       (how_.until == nullptr || platform::time_left(*how_.until) >= until_look_);
    const platform::deadline next_look = looks ? platform::in(until_look_) : platform::deadline{};
    park(state, state | rwlock::readers_parked, [&](std::uint32_t expected) {
      return parking::sleep_as_reader(sleep_word(lock_), expected, looks ? &next_look : how_.until);
    });
    if (!looks || !expired_) return;
    expired_ = false;
    starving_ = lock_.writer_exits.load(platform::relaxed) != exits_at_first_;
    if (until_look_ < longest_until_look) until_look_ *= 2;
  }

  // In nanoseconds.
  static constexpr std::uint64_t longest_until_look = 64'000'000;
  std::uint64_t until_look_ = 1'000'000;

  const bool holds_already_;
  const std::uint16_t exits_at_first_;
  bool has_lost_race_ = false;
  bool credited_ = false;
  bool starving_ = false;  // writers have passed it over for long
};

}  // namespace

void update_account(rwlock& lock, rules how) noexcept {
  thread_record* const me = enlist(lock.domain);
  if (me == nullptr) return;
  if (domain_of(*me).version.load(platform::relaxed) != me->seen.load(platform::relaxed)) {
    report(*me);
  }
  const std::int32_t reads = start_account_period(*me);
  credit(lock, how, reads * bias::saved_by_read(has_company(*me)));
}

outcome lock_shared_slow(rwlock& lock, rules how) noexcept {
  thread_record* me = enlist(lock.domain);
  meet(lock, me, how);
  const auto acquire = [&] { return reader(lock, me, how).acquire(); };
  return is_observed() ? observed(lock, hold_kind::read, how, acquire) : acquire();
}

}  // namespace readmost::detail
