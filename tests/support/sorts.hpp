// SPDX-License-Identifier: Apache-2.0
// The sorts of read holds and of locks in which a rule is checked.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "support/helper_thread.hpp"
#include "support/surface.hpp"

namespace test {

inline constexpr readmost::preference preferences[] = {
    readmost::preference::writer, readmost::preference::reader, readmost::preference::phase_fair};

inline const char* name_of(readmost::preference prefers) {
  switch (prefers) {
    case readmost::preference::writer:
      return "writers preferred";
    case readmost::preference::reader:
      return "readers preferred";
    case readmost::preference::phase_fair:
      return "phase-fair";
  }
  return "";
}

// Where a read hold is recorded: counted in the lock, or in its thread's slot alone.
enum class hold { active, passive };
inline constexpr hold holds[] = {hold::active, hold::passive};

inline const char* name_of(hold h) {
  return h == hold::active ? "held actively" : "held passively";
}

// Locks for reading; returns 1 if the hold is of the wanted sort, else 0.
inline int lock_shared_as(rwlock& lock, hold wanted, rules how = {}) {
  return lock_shared(lock, how) == acquired && holds_passively(lock) == (wanted == hold::passive);
}

// Has `first` and then `second` hold the lock, each in its own way. Once biased, a lock gives
// passive holds, so the active ones come first.
inline void share(rwlock& lock, helper_thread& first, hold of_first, helper_thread& second,
                  hold of_second, rules how = {}) {
  const auto enter = [&](helper_thread& reader, hold wanted) {
    ASSERT_EQ(reader.call([&, wanted] { return lock_shared_as(lock, wanted, how); }), 1)
        << name_of(wanted);
  };
  if (of_first == hold::active) enter(first, hold::active);
  if (of_second == hold::active) enter(second, hold::active);
  if (of_first == hold::active && of_second == hold::active) return keep_without_bias(lock);
  ASSERT_TRUE(earn_bias(lock, how));
  if (of_first == hold::passive) enter(first, hold::passive);
  if (of_second == hold::passive) enter(second, hold::passive);
}

// Expects that nobody is inside and that nobody is counted as waiting. What is only looked into by
// the next writer, or costs a wake-up in vain, may stay.
inline void expect_free(rwlock& lock, rules how = {}) {
  constexpr std::uint64_t harmless = rwlock::ready | rwlock::unnoted | rwlock::any_bias |
                                     rwlock::draining | rwlock::readers_parked |
                                     rwlock::writers_parked | rwlock::upgrader_parked;
  EXPECT_EQ(lock.state.load() & ~harmless, 0U);
  EXPECT_EQ(try_lock(lock, how), acquired);
  unlock(lock, how);
  EXPECT_EQ(try_lock_shared(lock, how), acquired);
  EXPECT_TRUE(unlock_shared(lock));
}

}  // namespace test
