// A bare rwlock, used as the public surfaces use it.
#pragma once

#include <cstdint>
#include <readmost/detail/lock/rwlock.hpp>

namespace test {

// Far more reads than the poorest account needs to earn bias.
inline constexpr int reads_that_earn_bias = 20'000;

inline constexpr int acquired = static_cast<int>(readmost::detail::outcome::acquired);
inline constexpr int busy = static_cast<int>(readmost::detail::outcome::busy);
inline constexpr int timed_out = static_cast<int>(readmost::detail::outcome::timed_out);

inline int lock_shared(readmost::detail::rwlock& lock, readmost::detail::rules how = {}) {
  readmost::detail::thread_record& me = readmost::detail::my_record(lock.domain);
  if (readmost::detail::try_lock_shared_passive(lock, me) ||
      readmost::detail::try_lock_shared_active(lock, me, readmost::detail::domains[lock.domain],
                                               how)) {
    return acquired;
  }
  return static_cast<int>(readmost::detail::lock_shared_slow(lock, how));
}

inline int try_lock_shared(readmost::detail::rwlock& lock, readmost::detail::rules how = {}) {
  return lock_shared(lock, readmost::detail::at_once(how));
}

inline bool unlock_shared(readmost::detail::rwlock& lock) {
  readmost::detail::thread_record& me = readmost::detail::my_record(lock.domain);
  return readmost::detail::try_unlock_shared_passive(lock, me,
                                                     readmost::detail::domains[lock.domain]) ||
         readmost::detail::try_unlock_shared_active(lock, me) ||
         readmost::detail::unlock_shared_slow(lock);
}

inline int lock(readmost::detail::rwlock& lock, readmost::detail::rules how = {}) {
  return static_cast<int>(readmost::detail::lock_exclusive(lock, how));
}

inline int try_lock(readmost::detail::rwlock& l, readmost::detail::rules how = {}) {
  return lock(l, readmost::detail::at_once(how));
}

inline void unlock(readmost::detail::rwlock& lock, readmost::detail::rules how = {}) {
  readmost::detail::unlock_exclusive(lock, how);
}

inline int upgrade(readmost::detail::rwlock& lock, readmost::detail::rules how = {}) {
  return static_cast<int>(readmost::detail::upgrade(lock, how));
}

inline int try_upgrade(readmost::detail::rwlock& lock, readmost::detail::rules how = {}) {
  return test::upgrade(lock, readmost::detail::at_once(how));
}

// How an operation behaves that gives up after a while.
class hasty_rules {
 public:
  hasty_rules(readmost::detail::rules how, std::uint64_t nanoseconds)
      : until_(readmost::detail::platform::in(nanoseconds)),
        how_(readmost::detail::before(how, until_)) {}
  hasty_rules(const hasty_rules&) = delete;
  hasty_rules& operator=(const hasty_rules&) = delete;

  operator readmost::detail::rules() const { return how_; }
  bool is_over() const { return readmost::detail::platform::time_left(until_) == 0; }

 private:
  readmost::detail::platform::deadline until_;
  readmost::detail::rules how_;
};

inline void read(readmost::detail::rwlock& lock, int times, readmost::detail::rules how = {}) {
  for (int i = 0; i < times; ++i) {
    lock_shared(lock, how);
    unlock_shared(lock);
  }
}

inline void write(readmost::detail::rwlock& l, readmost::detail::rules how = {}) {
  lock(l, how);
  unlock(l, how);
}

inline bool is_biased(const readmost::detail::rwlock& lock) {
  return (lock.state.load() & readmost::detail::rwlock::biased) != 0;
}

// Reads until the lock is biased; false if it never is.
inline bool earn_bias(readmost::detail::rwlock& lock, readmost::detail::rules how = {}) {
  for (int i = 0; i < reads_that_earn_bias && !is_biased(lock); ++i) read(lock, 1, how);
  return is_biased(lock);
}

// Never biased: its read holds are active.
inline void keep_without_bias(readmost::detail::rwlock& lock) {
  lock.traits.fetch_or(readmost::detail::rwlock::never_biased);
}

// Whether the calling thread holds the lock passively, by what its record says.
inline bool holds_passively(const readmost::detail::rwlock& lock) {
  for (const auto& slot : readmost::detail::my_record(lock.domain).held) {
    if (slot.load() == readmost::detail::held_passively(lock)) return true;
  }
  return false;
}

// What the calling thread has read passively, over all locks.
inline std::uint64_t passive_reads_of_this_thread() {
  readmost::detail::enlist();  // a record comes with the counts of its last owner
  std::uint64_t sum = 0;
  for (const auto& reads : readmost::detail::my_record().reads) sum += reads.load();
  return sum;
}

}  // namespace test
