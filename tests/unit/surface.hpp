// A bare rwlock, used as the public surfaces use it.
#pragma once

#include <cstdint>
#include <readmost/rwlock.hpp>

namespace unit {

// Far more reads than the poorest account needs to earn bias.
inline constexpr int reads_that_earn_bias = 20'000;

inline constexpr int acquired = static_cast<int>(readmost::outcome::acquired);
inline constexpr int busy = static_cast<int>(readmost::outcome::busy);
inline constexpr int timed_out = static_cast<int>(readmost::outcome::timed_out);

inline int lock_shared(readmost::rwlock& lock, readmost::rules how = {}) {
  readmost::thread_record& me = readmost::my_record(lock.domain);
  if (readmost::try_lock_shared_passive(lock, me) ||
      readmost::try_lock_shared_active(lock, me, readmost::domains[lock.domain], how)) {
    return acquired;
  }
  return static_cast<int>(readmost::lock_shared_slow(lock, how));
}

inline int try_lock_shared(readmost::rwlock& lock, readmost::rules how = {}) {
  return lock_shared(lock, readmost::at_once(how));
}

inline bool unlock_shared(readmost::rwlock& lock) {
  readmost::thread_record& me = readmost::my_record(lock.domain);
  return readmost::try_unlock_shared_passive(lock, me, readmost::domains[lock.domain]) ||
         readmost::try_unlock_shared_active(lock, me) || readmost::unlock_shared_slow(lock);
}

inline int lock(readmost::rwlock& lock, readmost::rules how = {}) {
  return static_cast<int>(readmost::lock_exclusive(lock, how));
}

inline int try_lock(readmost::rwlock& l, readmost::rules how = {}) {
  return lock(l, readmost::at_once(how));
}

inline void unlock(readmost::rwlock& lock, readmost::rules how = {}) {
  readmost::unlock_exclusive(lock, how);
}

inline int upgrade(readmost::rwlock& lock, readmost::rules how = {}) {
  return static_cast<int>(readmost::upgrade(lock, how));
}

inline int try_upgrade(readmost::rwlock& lock, readmost::rules how = {}) {
  return unit::upgrade(lock, readmost::at_once(how));
}

// How an operation behaves that gives up after a while.
class hasty_rules {
 public:
  hasty_rules(readmost::rules how, std::uint64_t nanoseconds)
      : until_(readmost::platform::in(nanoseconds)), how_(readmost::before(how, until_)) {}
  hasty_rules(const hasty_rules&) = delete;
  hasty_rules& operator=(const hasty_rules&) = delete;

  operator readmost::rules() const { return how_; }
  bool is_over() const { return readmost::platform::time_left(until_) == 0; }

 private:
  readmost::platform::deadline until_;
  readmost::rules how_;
};

inline void read(readmost::rwlock& lock, int times, readmost::rules how = {}) {
  for (int i = 0; i < times; ++i) {
    lock_shared(lock, how);
    unlock_shared(lock);
  }
}

inline void write(readmost::rwlock& l, readmost::rules how = {}) {
  lock(l, how);
  unlock(l, how);
}

inline bool is_biased(const readmost::rwlock& lock) {
  return (lock.state.load() & readmost::rwlock::biased) != 0;
}

// Reads until the lock is biased; false if it never is.
inline bool earn_bias(readmost::rwlock& lock, readmost::rules how = {}) {
  for (int i = 0; i < reads_that_earn_bias && !is_biased(lock); ++i) read(lock, 1, how);
  return is_biased(lock);
}

// Never biased: its read holds are active.
inline void keep_without_bias(readmost::rwlock& lock) {
  lock.traits.fetch_or(readmost::rwlock::never_biased);
}

// Whether the calling thread holds the lock passively, by what its record says.
inline bool holds_passively(const readmost::rwlock& lock) {
  for (const auto& slot : readmost::my_record(lock.domain).held) {
    if (slot.load() == readmost::held_passively(lock)) return true;
  }
  return false;
}

// What the calling thread has read passively, over all locks.
inline std::uint64_t passive_reads_of_this_thread() {
  readmost::enlist();  // a record comes with the counts of its last owner
  std::uint64_t sum = 0;
  for (const auto& reads : readmost::my_record().reads) sum += reads.load();
  return sum;
}

}  // namespace unit
