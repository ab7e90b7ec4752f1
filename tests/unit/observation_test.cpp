// SPDX-License-Identifier: Apache-2.0
// What must hold of a lock that a tool, or READMOST_LOCK_CHECK, observes.
#include "lock/observation.hpp"

#include <gtest/gtest.h>

#include "support/single_step.hpp"

namespace {

using namespace readmost::detail;

#if CAN_STEP

// As if a tool were there, for locks that are used for the first time meanwhile.
class observer_present {
 public:
  observer_present() : before_(observers_.exchange(observers::somebody, platform::relaxed)) {}
  ~observer_present() { observers_.store(before_, platform::relaxed); }
  observer_present(const observer_present&) = delete;
  observer_present& operator=(const observer_present&) = delete;

 private:
  observers before_;
};

// Another thread that finds the first use over may otherwise give the lock its bias, and then hold
// it by a path that nobody observes.
TEST(observed_lock, gets_no_bias_from_any_moment_of_its_first_use_on) {
  const observer_present observer;
  rwlock lock;
  bool is_observed_as_soon_as_met = true;
  const std::size_t steps = test::step_through(
      test::code_around(lock_shared_slow), [&] { lock_shared_slow(lock, rules{}); },
      [&](std::size_t) {
        const std::uint8_t traits = lock.traits.load(platform::relaxed);
        const bool is_met = (traits & rwlock::met) != 0;
        if (is_met && (traits & rwlock::never_biased) == 0) is_observed_as_soon_as_met = false;
        return true;
      });
  EXPECT_GT(steps, 0U);
  EXPECT_NE(lock.traits.load(platform::relaxed) & rwlock::met, 0);
  EXPECT_TRUE(is_observed_as_soon_as_met);
  unlock_shared_slow(lock);
}

#endif

}  // namespace
