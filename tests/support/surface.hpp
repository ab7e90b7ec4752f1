// SPDX-License-Identifier: Apache-2.0
// Operations on a bare rwlock, composed as the public interfaces compose them.
#pragma once

#include <cstdint>
#include <readmost/detail/lock/read_lock.hpp>

#include "lock/bias_trial.hpp"

namespace test {

using namespace readmost::detail;

// Far more reads than the poorest account needs to earn bias.
inline constexpr int reads_that_earn_bias = 20'000;

inline constexpr int acquired = static_cast<int>(outcome::acquired);
inline constexpr int busy = static_cast<int>(outcome::busy);
inline constexpr int timed_out = static_cast<int>(outcome::timed_out);

inline bool try_lock_shared_passively(rwlock& lock) {
  if (!is_biased(lock)) return false;
  const passive_attempt attempt = lock_shared_passively(lock, my_record(lock.domain));
  if (attempt > passive_attempt::unavailable) retract_published(lock, attempt);
  return attempt == passive_attempt::acquired;
}

inline int lock_shared(rwlock& lock, rules how = {}) {
  thread_record& me = my_record(lock.domain);
  passive_attempt attempt = passive_attempt::unavailable;
  if (is_biased(lock)) {
    attempt = lock_shared_passively(lock, me);
    if (attempt == passive_attempt::acquired) return acquired;
  }
  if (lock_shared_after(attempt, lock, me, [&] { return how; })) return acquired;
  return static_cast<int>(lock_shared_slow(lock, how));
}

inline int try_lock_shared(rwlock& lock, rules how = {}) {
  return lock_shared(lock, at_once(how));
}

inline bool unlock_shared(rwlock& lock) {
  thread_record& me = my_record(lock.domain);
  const passive_release how =
      unlock_shared_passively(lock, me, [&]() -> const domain& { return domains[lock.domain]; });
  switch (how) {
    case passive_release::done:
      return true;
    case passive_release::report:
    case passive_release::report_nested:
      after_passive_release(lock, me, index_of_release(lock, how));
      return true;
    case passive_release::unavailable:
      return try_unlock_shared_active<true>(lock, me) || unlock_shared_slow(lock);
    case passive_release::stacked:
      break;
  }
  return unlock_shared_slow(lock);
}

inline int lock(rwlock& lock, rules how = {}) {
  const std::uint64_t state = how.noted ? likely_free<true>(lock) : likely_free<false>(lock);
  if (try_lock_exclusive_fast(lock, my_record(lock.domain), state)) return acquired;
  return static_cast<int>(lock_exclusive_slow(lock, how));
}

inline int try_lock(rwlock& l, rules how = {}) {
  return lock(l, at_once(how));
}

inline void unlock(rwlock& lock, rules how = {}) {
  const bool unlocked =
      how.noted ? try_unlock_exclusive_fast<true>(lock) : try_unlock_exclusive_fast<false>(lock);
  if (!unlocked) unlock_exclusive_slow(lock, how);
}

inline int upgrade(rwlock& lock, rules how = {}) {
  return static_cast<int>(readmost::detail::upgrade(lock, how));
}

inline int try_upgrade(rwlock& lock, rules how = {}) {
  return test::upgrade(lock, at_once(how));
}

// Rules with a deadline that many nanoseconds from now.
class hasty_rules {
 public:
  hasty_rules(rules how, std::uint64_t nanoseconds)
      : until_(platform::in(nanoseconds)), how_(before(how, until_)) {}
  hasty_rules(const hasty_rules&) = delete;
  hasty_rules& operator=(const hasty_rules&) = delete;

  operator rules() const { return how_; }
  bool is_over() const { return platform::time_left(until_) == 0; }

 private:
  platform::deadline until_;
  rules how_;
};

inline void read(rwlock& lock, int times, rules how = {}) {
  for (int i = 0; i < times; ++i) {
    lock_shared(lock, how);
    unlock_shared(lock);
  }
}

inline void write(rwlock& l, rules how = {}) {
  lock(l, how);
  unlock(l, how);
}

// Biased, with or without statistics per lock, or by fences.
inline bool has_bias(const rwlock& lock) {
  return (lock.state.load() & rwlock::any_bias) != 0;
}

inline bool is_biased_by_fences(const rwlock& lock) {
  return (lock.state.load() & rwlock::biased_by_fences) != 0;
}

// Reads until the lock is biased; false if it never is. There are no trials of the bias any more:
// on a busy machine, or where revocations are stepped through, one would take it.
inline bool earn_bias(rwlock& lock, rules how = {}) {
  bias_trials[lock.domain].in_use.store(1);
  for (int i = 0; i < reads_that_earn_bias && !has_bias(lock); ++i) read(lock, 1, how);
  return has_bias(lock);
}

// Never biased: its read holds are active.
inline void keep_without_bias(rwlock& lock) {
  lock.traits.fetch_or(rwlock::never_biased);
}

// Whether the calling thread's record has a passive hold of the lock.
inline bool holds_passively(const rwlock& lock) {
  bool found = false;
  for_each_slot(my_record(lock.domain), [&](const auto& slot, std::size_t) {
    found = found || slot.load() == address(lock);
    return !found;
  });
  return found;
}

// The number of passive reads of the calling thread, over all locks.
inline std::uint64_t passive_reads_of_this_thread() {
  enlist();  // a record comes with the counts of its last owner
  std::uint64_t sum = 0;
  for (const auto& reads : my_record().reads) sum += reads.load();
  return sum;
}

}  // namespace test
