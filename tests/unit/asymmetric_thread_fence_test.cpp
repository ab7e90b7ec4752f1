// SPDX-License-Identifier: Apache-2.0
// Asymmetric fences: that a light and a heavy one order as two full ones, also in a fork's child.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <readmost/asymmetric_thread_fence.hpp>
#include <thread>

#include "support/forbidden_calls.hpp"
#include "support/processes.hpp"

namespace {

using readmost::asymmetric_thread_fence_heavy;
using readmost::asymmetric_thread_fence_light;

static_assert(noexcept(asymmetric_thread_fence_light(std::memory_order_seq_cst)));
static_assert(noexcept(asymmetric_thread_fence_heavy(std::memory_order_seq_cst)));

// Each of two threads stores and then loads what the other stores. Returns how often both missed
// the other's store. The first thread's store waits behind others in its store buffer, to lines
// that the second has read: so both miss in many rounds unless a fence keeps them from it.
template <class Fence, class OtherFence>
int times_that_both_miss(int rounds, Fence fence, OtherFence other_fence) {
  struct alignas(64) cell {
    std::atomic<int> value{0};
  };
  cell mine, theirs, theirs_seen, theirs_done, theirs_ready, go;
  std::array<cell, 16> before_mine;
  int both = 0;
  const auto await = [](cell& which, int value) {
    for (int turn = 0; which.value.load(std::memory_order_acquire) != value; ++turn) {
      if (turn % 1024 == 1023) std::this_thread::yield();
    }
  };
  std::thread other([&] {
    for (int round = 1; round <= rounds; ++round) {
      for (const cell& each : before_mine) {
        static_cast<void>(each.value.load(std::memory_order_relaxed));
      }
      theirs_ready.value.store(round, std::memory_order_release);
      await(go, round);
      theirs.value.store(round, std::memory_order_relaxed);
      other_fence();
      theirs_seen.value.store(mine.value.load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
      theirs_done.value.store(round, std::memory_order_release);
    }
  });
  for (int round = 1; round <= rounds; ++round) {
    await(theirs_ready, round);
    go.value.store(round, std::memory_order_release);
    for (cell& each : before_mine) each.value.store(round, std::memory_order_relaxed);
    mine.value.store(round, std::memory_order_relaxed);
    fence();
    const int seen = theirs.value.load(std::memory_order_relaxed);
    await(theirs_done, round);
    if (seen != round && theirs_seen.value.load(std::memory_order_relaxed) != round) ++both;
  }
  other.join();
  return both;
}

void light() {
  asymmetric_thread_fence_light(std::memory_order_seq_cst);
}
void heavy() {
  asymmetric_thread_fence_heavy(std::memory_order_seq_cst);
}

constexpr int rounds = 5000;

TEST(asymmetric_thread_fence, light_and_heavy_order_as_full_fences) {
  EXPECT_EQ(times_that_both_miss(rounds, light, heavy), 0);
  EXPECT_EQ(times_that_both_miss(rounds, heavy, light), 0);
}

TEST(asymmetric_thread_fence, two_heavy_ones_order_as_full_fences) {
  EXPECT_EQ(times_that_both_miss(rounds, heavy, heavy), 0);
}

TEST(asymmetric_thread_fence, work_in_a_child) {
  heavy();
  test::in_a_child([] { EXPECT_EQ(times_that_both_miss(rounds / 4, light, heavy), 0); });
}

long switches_of_this_thread() {
  rusage used;
  EXPECT_EQ(getrusage(RUSAGE_THREAD, &used), 0);
  return used.ru_nvcsw + used.ru_nivcsw;
}

TEST(asymmetric_thread_fence, work_when_membarrier_is_refused_later) {
  heavy();
  test::in_a_child([] {
    if (!test::forbid_calls({SYS_membarrier}, EPERM)) return;  // the system has no filters
    cpu_set_t before, after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_EQ(times_that_both_miss(rounds / 5, light, heavy), 0);
    EXPECT_EQ(times_that_both_miss(rounds / 5, heavy, light), 0);
    // In those rounds a missing fence is seldom noticed, because the refused call takes so long. A
    // thread that goes from CPU to CPU is switched each time.
    constexpr int fences = 10;
    const long switches = switches_of_this_thread();
    for (int i = 0; i < fences; ++i) heavy();
    EXPECT_GE(switches_of_this_thread() - switches, fences * (CPU_COUNT(&before) - 1));
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
  });
}

TEST(asymmetric_thread_fence, are_light_once_membarrier_works) {
  heavy();
  EXPECT_EQ(readmost::detail::light_fences_are_light.load(),
            readmost::detail::platform::heavy_fence());
}

}  // namespace
