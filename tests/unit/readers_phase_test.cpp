// SPDX-License-Identifier: Apache-2.0
// The phase of readers for which writers wait, and readers that it is not for.
#include <gtest/gtest.h>

#include <optional>

#include "statistics/lock_statistics.hpp"
#include "statistics/statistics.hpp"
#include "support/crowd.hpp"
#include "support/processes.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using readmost::preference;

constexpr std::uint64_t millisecond = 1'000'000;

// The phase is opened by hand, for a reader that does not come. Statistics tell who has waited, and
// stay on once they are.
class phase_for_another : public ::testing::TestWithParam<preference> {
 protected:
  static void in_phase(std::uint64_t waiting_writers, void (*body)(rwlock& lock),
                       bool among_many = true) {
    test::in_a_child([&] {
      std::optional<test::crowd> others;
      if (among_many) others.emplace();
      enable_lock_statistics(false);
      rwlock lock;
      test::keep_without_bias(lock);
      test::write(lock);
      lock.state.fetch_add(rwlock::one_waiting_reader + rwlock::reader_phase +
                           waiting_writers * rwlock::one_writer);
      const std::uint64_t before = lock.state.load();
      body(lock);
      EXPECT_EQ(lock.state.load(), before);
    });
  }

  static std::uint64_t waits_of_readers(const rwlock& lock) {
    lock_survey all;
    EXPECT_TRUE(survey_locks(all));
    EXPECT_EQ(all.count, 1U);
    return all.hottest[0].lock == address(lock) ? all.hottest[0].read_waits.count : ~0U;
  }

  static void read(rwlock& lock) { test::read(lock, 1, {.prefers = GetParam()}); }
  static void time_passes() { platform::sleep_for(millisecond); }
};

TEST_P(phase_for_another, lets_readers_through_if_no_writer_waits) {
  in_phase(0, [](rwlock& lock) {
    read(lock);
    time_passes();
    read(lock);
    EXPECT_EQ(waits_of_readers(lock), 0U);
  });
}

TEST_P(phase_for_another, is_left_to_it_for_a_while_if_a_writer_waits) {
  in_phase(1, [](rwlock& lock) {
    read(lock);
    EXPECT_EQ(waits_of_readers(lock), GetParam() == preference::writer ? 1U : 0U);
    const std::uint64_t before = waits_of_readers(lock);
    time_passes();
    read(lock);
    read(lock);
    EXPECT_EQ(waits_of_readers(lock), before + 2);
  });
}

TEST_P(phase_for_another, is_soon_over_where_all_threads_have_cpus) {
  const auto body = [](rwlock& lock) {
    read(lock);
    time_passes();
    read(lock);
    EXPECT_EQ(waits_of_readers(lock), 0U);
  };
  in_phase(1, body, false);
}

TEST_P(phase_for_another, is_open_to_who_holds_the_lock_or_only_tries) {
  in_phase(1, [](rwlock& lock) {
    const rules how{.prefers = GetParam()};
    read(lock);
    time_passes();
    const std::uint64_t before = waits_of_readers(lock);
    EXPECT_EQ(test::try_lock_shared(lock, how), test::acquired);
    EXPECT_EQ(test::lock_shared(lock, how), test::acquired);
    EXPECT_EQ(waits_of_readers(lock), before);
    for (int holds = 2; holds > 0; --holds) EXPECT_TRUE(test::unlock_shared(lock));
  });
}

INSTANTIATE_TEST_SUITE_P(, phase_for_another,
                         ::testing::Values(preference::writer, preference::phase_fair),
                         [](const auto& info) {
                           return info.param == preference::writer ? "writer" : "phase_fair";
                         });

}  // namespace
