// SPDX-License-Identifier: Apache-2.0
// All forks are watched: from the start, and those of several threads one after the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <readmost/detail/bravo/visible_readers.hpp>
#include <readmost/hazard_pointer.hpp>
#include <readmost/rcu.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "rcu/reclamation.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/sanitizers.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace {

using namespace readmost::detail;
using test::in_a_child;

// A thread that forks while another comes to use a part of the library for the first time would
// else have a child in which nobody put that part in order. Each of these is the first thing that
// its process does. The first does not notice who alone calls watch_forks(): all parts do.

TEST(early_fork, finds_the_domains_watched) {
  const auto set_all = [](std::uint32_t sleepers) {
    for (drain_place& place : default_domain.drains) place.sleepers = sleepers;
  };
  set_all(1);
  in_a_child([&] {
    for (const drain_place& place : default_domain.drains) EXPECT_EQ(place.sleepers.load(), 0U);
  });
  set_all(0);
}

TEST(early_fork, finds_what_has_been_retired_watched) {
  auto& throttled = all_reclamation[0].throttled;
  throttled = 1;
  in_a_child([&] { EXPECT_EQ(throttled, 0U); });
  throttled = 0;
}

TEST(early_fork, finds_hazard_pointers_watched) {
  test::helper_thread other;
  thread_record* record = nullptr;
  other.call([&] { return record = enlist(), 0; });
  auto& stopped_by = record->hazards.stopped_by;
  stopped_by = &stopped_by;
  in_a_child([&] { EXPECT_EQ(stopped_by, nullptr); });
  stopped_by = nullptr;
}

TEST(early_fork, finds_visible_readers_watched) {
  auto& slot = paper_slots[0];
  slot = highest_number << number_shift;
  in_a_child([&] { EXPECT_EQ(slot, 0U); });
  slot = 0;
}

// --- At once -------------------------------------------------------------------------------------

struct object : readmost::hazard_pointer_obj_base<object>, readmost::rcu_obj_base<object> {};

// Not on the heap: see support/processes.hpp.
struct own_object;
struct leave_alone {
  void operator()(own_object*) const {}
};
struct own_object : readmost::hazard_pointer_obj_base<own_object, leave_alone>,
                    readmost::rcu_obj_base<own_object, leave_alone> {};

// ThreadSanitizer ends a child of several threads that starts one, as a barrier may.
void reclaim_in_the_child() {
  readmost::hazard_pointer_clean_up();
#if !UNDER_THREAD_SANITIZER
  readmost::rcu_barrier();
#endif
}

TEST(forks_at_once, leave_children_that_go_on) {
  constexpr int rounds = 50;
  static std::array<std::array<own_object, rounds>, 4> by_hazard_pointers;
  static std::array<std::array<own_object, rounds>, 4> by_rcu;
  std::vector<std::thread> threads;
  for (std::size_t thread = 0; thread < by_rcu.size(); ++thread) {
    threads.emplace_back([thread] {
      for (std::size_t i = 0; i < rounds; ++i) {
        by_hazard_pointers[thread][i].hazard_pointer_obj_base::retire();
        by_rcu[thread][i].rcu_obj_base::retire();
        const pid_t child = test::settled_fork();
        if (child == 0) {
          alarm(test::child_deadline);
          reclaim_in_the_child();
          _exit(0);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFEXITED(status)) << "the child was killed by signal " << WTERMSIG(status);
        ASSERT_EQ(WEXITSTATUS(status), 0);
      }
      readmost::hazard_pointer_clean_up();
    });
  }
  for (std::thread& thread : threads) thread.join();
  readmost::hazard_pointer_clean_up();
  readmost::rcu_barrier();
  EXPECT_EQ(readmost::rcu_statistics_of().waiting, 0U);
}

std::atomic<int> amid_forks{0};
std::atomic<int> most_amid_forks{0};

TEST(forks_at_once, come_one_after_the_other) {
  static part part{.before_fork =
                       [] {
                         most_amid_forks = std::max(++amid_forks, most_amid_forks.load());
                         std::this_thread::sleep_for(std::chrono::milliseconds(5));
                       },
                   .in_parent = [] { --amid_forks; },
                   .in_child = [] { amid_forks = 0; }};
  add_part(part);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([] {
      for (int i = 0; i < 3; ++i) in_a_child([] {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most_amid_forks, 1);
  EXPECT_EQ(amid_forks, 0);
}

// Called where the library keeps its lists unchanged during the fork.
test::helper_thread* ends_amid_fork;
void end_it() {
  delete std::exchange(ends_amid_fork, nullptr);
}

TEST(forks_at_once, leave_the_record_of_a_thread_that_ends_meanwhile_to_others) {
  const auto retire_and_scan = [] {
    (new object)->hazard_pointer_obj_base::retire();
    readmost::hazard_pointer_clean_up();
    return 0;
  };
  ends_amid_fork = new test::helper_thread;
  ASSERT_EQ(ends_amid_fork->call(retire_and_scan), 0);
  static part part{.before_fork = end_it};
  add_part(part);
  in_a_child([] {});
  EXPECT_EQ(ends_amid_fork, nullptr);
  test::helper_thread next;
  EXPECT_EQ(next.call(retire_and_scan), 0);
}

TEST(forks_at_once, leave_what_another_thread_retired_to_its_scans) {
  static std::atomic<bool> reclaimed{false};
  struct tell {
    void operator()(void*) const { reclaimed = true; }
  };
  struct told : readmost::hazard_pointer_obj_base<told, tell> {};
  static told one;
  ASSERT_NE(enlist(),
            nullptr);  // the forking thread has a record, and retires nothing
  test::helper_thread other;
  ASSERT_EQ(other.call([] { one.retire(); }), 0);
  in_a_child([] {});
  EXPECT_EQ(other.call([] { readmost::hazard_pointer_clean_up(); }), 0);
  EXPECT_TRUE(reclaimed);
}

// Like a fork from a signal handler that interrupts another library call.
std::atomic<int> forks_inside{0};
void fork_inside() {
  if (forks_inside.fetch_add(1) != 0) return;
  in_a_child(reclaim_in_the_child);
}

TEST(forks_at_once, may_be_one_inside_the_other) {
  (new object)->hazard_pointer_obj_base::retire();
  (new object)->rcu_obj_base::retire();
  forks_inside = 0;
  static part part{.before_fork = fork_inside};
  add_part(part);
  in_a_child(reclaim_in_the_child);
  EXPECT_EQ(forks_inside, 1) << "called again amid the calls";
  (new object)->hazard_pointer_obj_base::retire();
  (new object)->rcu_obj_base::retire();
  readmost::hazard_pointer_clean_up();
  readmost::rcu_barrier();
  EXPECT_EQ(readmost::rcu_statistics_of().waiting, 0U);
}

}  // namespace
