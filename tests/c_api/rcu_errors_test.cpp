// SPDX-License-Identifier: Apache-2.0
// Checks which calls the C functions of RCU refuse, that a refused call changes nothing, and how
// calls are counted and ordered.
#include <gtest/gtest.h>
#include <readmost_rcu.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>
#include <readmost/rcu.hpp>
#include <utility>
#include <vector>

#include "support/helper_thread.hpp"

namespace {

using test::helper_thread;

readmost_rcu_statistics_t statistics_of(readmost_rcu_domain_t* domain) {
  readmost_rcu_statistics_t figures;
  std::memset(&figures, 0xAA, sizeof figures);
  readmost_rcu_statistics(domain, &figures);
  return figures;
}

void do_nothing(readmost_rcu_head*) {}

struct section {
  explicit section(readmost_rcu_domain_t* domain = nullptr) : in(domain) {
    readmost_rcu_read_lock(in);
  }
  section(const section&) = delete;
  section& operator=(const section&) = delete;
  ~section() { readmost_rcu_read_unlock(in); }
  readmost_rcu_domain_t* in;
};

TEST(rcu_errors, to_wait_for_oneself_is_EDEADLK) {
  readmost_rcu_ticket_t ticket;
  {
    const section outer;
    ticket = readmost_rcu_start_poll(nullptr);
    const section inner;
    EXPECT_EQ(readmost_rcu_synchronize(nullptr), EDEADLK);
    EXPECT_EQ(readmost_rcu_synchronize_expedited(nullptr), EDEADLK);
    EXPECT_EQ(readmost_rcu_cond_synchronize(nullptr, ticket), EDEADLK);
    EXPECT_EQ(readmost_rcu_barrier(nullptr), EDEADLK);
  }
  EXPECT_EQ(readmost_rcu_cond_synchronize(nullptr, ticket), 0);
  const section again;
  EXPECT_EQ(readmost_rcu_cond_synchronize(nullptr, ticket), 0) << "it is over already";
}

TEST(rcu_errors, to_wait_for_another_domain_is_allowed) {
  readmost_rcu_domain_t* domain = nullptr;
  ASSERT_EQ(readmost_rcu_domain_create(&domain), 0);
  {
    const section in_process_domain;
    EXPECT_EQ(readmost_rcu_synchronize(domain), 0);
    EXPECT_EQ(readmost_rcu_barrier(domain), 0);
  }
  {
    const section in_own(domain);
    EXPECT_EQ(readmost_rcu_synchronize(nullptr), 0);
    EXPECT_EQ(readmost_rcu_synchronize(domain), EDEADLK);
    EXPECT_EQ(readmost_rcu_domain_destroy(domain), EDEADLK);
  }
  EXPECT_EQ(readmost_rcu_domain_destroy(domain), 0);
}

TEST(rcu_errors, no_function_is_EINVAL_and_nothing_is_queued) {
  readmost_rcu_head head;
  std::memset(&head, 0xAA, sizeof head);
  const readmost_rcu_head before = head;
  const auto retired = statistics_of(nullptr).retired;
  EXPECT_EQ(readmost_rcu_call(nullptr, &head, nullptr, 0), EINVAL);
  EXPECT_EQ(std::memcmp(&head, &before, sizeof head), 0);
  EXPECT_EQ(statistics_of(nullptr).retired, retired);
}

TEST(rcu_errors, a_way_to_reclaim_that_does_not_exist_is_EINVAL) {
  EXPECT_EQ(readmost_rcu_reclaim_by(nullptr, -1), EINVAL);
  EXPECT_EQ(readmost_rcu_reclaim_by(nullptr, 3), EINVAL);
}

TEST(rcu_errors, a_domain_too_many_is_EAGAIN_until_one_is_destroyed) {
  std::vector<readmost_rcu_domain_t*> made;
  readmost_rcu_domain_t* domain = nullptr;
  int result = 0;
  while ((result = readmost_rcu_domain_create(&domain)) == 0) {
    made.push_back(domain);
    ASSERT_LT(made.size(), readmost::detail::max_domains);
  }
  EXPECT_EQ(result, EAGAIN);
  EXPECT_EQ(made.size(), readmost::detail::max_domains - 1);
  EXPECT_EQ(readmost_rcu_domain_destroy(made.back()), 0);
  EXPECT_EQ(readmost_rcu_domain_create(&made.back()), 0);
  EXPECT_EQ(readmost_rcu_domain_create(&domain), EAGAIN);
  for (readmost_rcu_domain_t* each : made) EXPECT_EQ(readmost_rcu_domain_destroy(each), 0);
}

TEST(rcu_errors, the_domain_of_the_process_cannot_be_destroyed) {
  EXPECT_EQ(readmost_rcu_domain_destroy(nullptr), EINVAL);
}

TEST(rcu_errors, errno_is_left_alone) {
  errno = ENOTTY;
  const section inside;
  EXPECT_EQ(readmost_rcu_synchronize(nullptr), EDEADLK);
  EXPECT_EQ(readmost_rcu_domain_destroy(nullptr), EINVAL);
  EXPECT_EQ(errno, ENOTTY);
}

TEST(rcu_calls, count_for_their_bytes_rounded_up_to_a_power_of_two) {
  readmost_rcu_domain_t* domain = nullptr;
  ASSERT_EQ(readmost_rcu_domain_create(&domain), 0);
  ASSERT_EQ(readmost_rcu_reclaim_by(domain, READMOST_RCU_IN_PLACE), 0);
  constexpr std::size_t huge = std::size_t{1} << 47;
  const std::vector<std::pair<std::size_t, std::size_t>> cases{
      {0, 0},
      {1, 1},
      {2, 2},
      {3, 4},
      {64, 64},
      {65, 128},
      {100, 128},
      {4096, 4096},
      {huge, huge},
      {huge + 1, huge},
      {std::numeric_limits<std::size_t>::max(), huge}};
  for (const auto& [given, counted] : cases) {
    readmost_rcu_head head;
    {
      const section inside(domain);
      ASSERT_EQ(readmost_rcu_call(domain, &head, do_nothing, given), 0);
      EXPECT_EQ(statistics_of(domain).waiting_bytes, counted) << given;
    }
    ASSERT_EQ(readmost_rcu_barrier(domain), 0);
    EXPECT_EQ(statistics_of(domain).waiting_bytes, 0U) << given;
  }
  EXPECT_EQ(readmost_rcu_domain_destroy(domain), 0);
}

TEST(rcu_calls, of_any_size_count_together) {
  readmost_rcu_domain_t* domain = nullptr;
  ASSERT_EQ(readmost_rcu_domain_create(&domain), 0);
  ASSERT_EQ(readmost_rcu_reclaim_by(domain, READMOST_RCU_IN_PLACE), 0);
  std::array<readmost_rcu_head, 64> heads;
  {
    const section inside(domain);
    for (readmost_rcu_head& each : heads) {
      ASSERT_EQ(readmost_rcu_call(domain, &each, do_nothing, std::size_t{1} << 62), 0);
    }
    EXPECT_EQ(statistics_of(domain).waiting_bytes, std::uint64_t{64} << 47);
    readmost_rcu_head refused;
    EXPECT_EQ(readmost_rcu_try_call(domain, &refused, do_nothing, 1), EAGAIN);
  }
  ASSERT_EQ(readmost_rcu_barrier(domain), 0);
  EXPECT_EQ(statistics_of(domain).waiting_bytes, 0U);
  EXPECT_EQ(readmost_rcu_domain_destroy(domain), 0);
}

TEST(rcu_calls, of_one_thread_are_made_in_their_order) {
  struct numbered {
    readmost_rcu_head head;
    int number;
  };
  static std::vector<int> order;
  order.clear();
  std::vector<numbered> objects(1000);
  for (int i = 0; i < 1000; ++i) {
    objects[static_cast<std::size_t>(i)].number = i;
    ASSERT_EQ(readmost_rcu_call(
                  nullptr, &objects[static_cast<std::size_t>(i)].head,
                  [](readmost_rcu_head* head) {
                    order.push_back(reinterpret_cast<numbered*>(head)->number);
                  },
                  sizeof(numbered)),
              0);
  }
  ASSERT_EQ(readmost_rcu_barrier(nullptr), 0);
  ASSERT_EQ(order.size(), 1000U);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(rcu_calls, may_call_again_and_wait_inside_the_function) {
  static std::atomic<int> left;
  left = 10;
  static readmost_rcu_head head;
  static readmost_rcu_function_t* const again = [](readmost_rcu_head* same) {
    EXPECT_EQ(readmost_rcu_synchronize(nullptr), 0);
    if (--left > 0) {
      EXPECT_EQ(readmost_rcu_call(nullptr, same, again, 0), 0);
    }
  };
  ASSERT_EQ(readmost_rcu_call(nullptr, &head, again, 0), 0);
  while (left > 0) ASSERT_EQ(readmost_rcu_barrier(nullptr), 0);
}

TEST(rcu_calls, wait_for_readers_of_cxx_as_well) {
  static std::atomic<bool> called;
  called = false;
  readmost_rcu_head head;
  helper_thread reader;
  ASSERT_EQ(reader.call([] { readmost::rcu_default_domain().lock(); }), 0);
  ASSERT_EQ(readmost_rcu_call(nullptr, &head, [](readmost_rcu_head*) { called = true; }, 0), 0);
  readmost_rcu_hurry(nullptr);
  const auto ticket = readmost_rcu_start_poll(nullptr);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(readmost_rcu_poll(nullptr, ticket), 0);
  EXPECT_FALSE(called);
  ASSERT_EQ(reader.call([] { readmost::rcu_default_domain().unlock(); }), 0);
  ASSERT_EQ(readmost_rcu_barrier(nullptr), 0);
  EXPECT_TRUE(called);
}

}  // namespace
