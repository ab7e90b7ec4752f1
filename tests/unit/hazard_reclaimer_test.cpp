// SPDX-License-Identifier: Apache-2.0
// Hazard pointers with a thread of the library's own that reclaims, and without any.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <readmost/hazard_pointer.hpp>
#include <readmost/rcu.hpp>
#include <thread>

#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/refused_threads.hpp"
#include "support/retiring.hpp"
#include "support/sanitizers.hpp"

namespace {

using readmost::hazard_pointer;
using readmost::hazard_pointer_clean_up;
using readmost::hazard_pointer_limit_backlog;
using readmost::hazard_pointer_reclaim_by;
using readmost::make_hazard_pointer;
using readmost::reclaiming;
using test::wait_until;

// Calls a function when it is reclaimed.
struct caller : readmost::hazard_pointer_obj_base<caller> {
  explicit caller(std::function<void()> what_) : what(std::move(what_)) {}
  ~caller() { what(); }
  std::function<void()> what;
};
void retire_with(std::function<void()> what) {
  (new caller(std::move(what)))->retire();
}

class hazard_reclaimer : public testing::Test {
 protected:
  void SetUp() override { hazard_pointer_reclaim_by(reclaiming::in_background); }
  void TearDown() override {
    hazard_pointer_reclaim_by(reclaiming::in_place);
    hazard_pointer_limit_backlog({});
    hazard_pointer_clean_up();
  }
};

TEST_F(hazard_reclaimer, reclaims_what_is_left_though_nobody_retires_any_more) {
  std::atomic<int> reclaimed{0};
  retire_with([&] { ++reclaimed; });
  EXPECT_TRUE(wait_until([&] { return reclaimed == 1; }));
}

TEST_F(hazard_reclaimer, reclaims_what_was_protected_once_it_no_longer_is) {
  std::atomic<int> reclaimed{0};
  auto* const object = new caller([&] { ++reclaimed; });
  hazard_pointer hazard = make_hazard_pointer();
  hazard.reset_protection(object);
  object->retire();
  std::atomic<int> other{0};
  retire_with([&] { ++other; });
  ASSERT_TRUE(wait_until([&] { return other == 1; }));
  EXPECT_EQ(reclaimed, 0);
  hazard.reset_protection();
  EXPECT_TRUE(wait_until([&] { return reclaimed == 1; }));
}

TEST_F(hazard_reclaimer, runs_deleters_that_take_a_lock_of_the_retiring_thread) {
  static std::mutex mutex;  // the last deleter unlocks it after it has been counted
  std::atomic<int> reclaimed{0};
  constexpr int many = 2000;  // above the limit, and not so far that the thread would wait
  hazard_pointer_limit_backlog({.objects = 512});
  {
    const std::scoped_lock held(mutex);
    for (int i = 0; i < many; ++i) {
      retire_with([&] {
        const std::scoped_lock inner(mutex);
        ++reclaimed;
      });
    }
    EXPECT_EQ(reclaimed, 0);
  }
  EXPECT_TRUE(wait_until([&] { return reclaimed == many; }));
}

TEST_F(hazard_reclaimer, does_not_stop_a_thread_whose_lock_deleters_need) {
  static std::mutex mutex;  // the last deleter unlocks it after it has been counted
  std::atomic<int> reclaimed{0};
  hazard_pointer_limit_backlog({.objects = 16});
  constexpr int many = 500;  // far above eight times the limit
  {
    const std::scoped_lock held(mutex);
    for (int i = 0; i < many; ++i) {
      retire_with([&] {
        const std::scoped_lock inner(mutex);
        ++reclaimed;
      });
    }
  }
  EXPECT_TRUE(wait_until([&] { return reclaimed == many; }));
}

// As far as it gets a CPU: a flood waits for it.
TEST_F(hazard_reclaimer, bounds_what_waits) {
  std::atomic<int> alive{0};
  int most = 0;
  for (int i = 0; i < 20'000; ++i) {
    ++alive;
    retire_with([&] { --alive; });
    most = std::max(most, alive.load());
  }
  EXPECT_TRUE(wait_until([&] { return alive == 0; }));
  EXPECT_LT(most, 20'000);
}

TEST_F(hazard_reclaimer, ends_when_nothing_is_left_and_is_started_again) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  std::thread([] {}).join();  // ThreadSanitizer starts one of its own with the first
  const auto before = threads();
  for (int round = 0; round < 2; ++round) {
    std::atomic<int> reclaimed{0};
    retire_with([&] { ++reclaimed; });
    ASSERT_TRUE(wait_until([&] { return reclaimed == 1; }));
    EXPECT_TRUE(wait_until([&] { return threads() <= before; }));
  }
}

TEST_F(hazard_reclaimer, is_there_in_a_child_as_well) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  test::shared_object<std::atomic<int>> reclaimed;
  std::atomic<int> first{0};
  retire_with([&] { ++first; });
  ASSERT_TRUE(wait_until([&] { return first == 1; }));
  const pid_t id = test::settled_fork();
  if (id == 0) {
    alarm(test::child_deadline);
    retire_with([&] { ++*reclaimed.operator->(); });
    _exit(wait_until([&] { return *reclaimed.operator->() == 1; }) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(id, &status, 0), id);
  EXPECT_EQ(status, 0);
}

TEST_F(hazard_reclaimer, reclaims_at_exit_what_was_retired_before) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  test::shared_object<std::atomic<int>> reclaimed;
  const pid_t id = test::settled_fork();
  if (id == 0) {
    alarm(test::child_deadline);
    for (int i = 0; i < 100; ++i) retire_with([&] { ++*reclaimed.operator->(); });
    static const struct at_the_end {
      ~at_the_end() {
        retire_with([] {});
      }
    } last;
    std::exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(id, &status, 0), id);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(*reclaimed.operator->(), 100);
}

#if !UNDER_THREAD_SANITIZER && !UNDER_ADDRESS_SANITIZER
TEST_F(hazard_reclaimer, is_replaced_at_exit_where_the_system_refuses_it) {
  test::shared_object<std::atomic<int>> reclaimed;
  const pid_t id = test::settled_fork();
  if (id == 0) {
    alarm(test::child_deadline);
    static const test::refused_threads refused;
    for (int i = 0; i < 10; ++i) retire_with([&] { ++*reclaimed.operator->(); });
    std::exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(id, &status, 0), id);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(*reclaimed.operator->(), 10);
}
#endif

TEST_F(hazard_reclaimer, reclaims_at_exit_what_deleters_retire_under_rcu) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  test::shared_object<std::atomic<int>> reclaimed;
  const pid_t id = test::settled_fork();
  if (id == 0) {
    alarm(test::child_deadline);
    retire_with([&] {
      test::retire_with(readmost::rcu_default_domain(), [&] { ++*reclaimed.operator->(); });
    });
    test::retire_with(readmost::rcu_default_domain(),
                      [&] { retire_with([&] { ++*reclaimed.operator->(); }); });
    std::exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(id, &status, 0), id);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(*reclaimed.operator->(), 2);
}

// Deleters wait for a lock that is held for good.
TEST_F(hazard_reclaimer, does_not_keep_a_process_from_its_end) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  const pid_t id = test::settled_fork();
  if (id == 0) {
    alarm(test::child_deadline);
    static std::mutex mutex;
    mutex.lock();
    retire_with([] { const std::scoped_lock never(mutex); });
    std::exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(id, &status, 0), id);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(hazard_reclaimer, is_the_program_itself_where_it_wants_that) {
  hazard_pointer_reclaim_by(reclaiming::on_request);
  std::atomic<int> reclaimed{0};
  for (int i = 0; i < 1000; ++i) retire_with([&] { ++reclaimed; });
  EXPECT_EQ(reclaimed, 0);
  hazard_pointer_clean_up();
  EXPECT_EQ(reclaimed, 1000);
}

}  // namespace
