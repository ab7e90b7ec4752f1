// SPDX-License-Identifier: Apache-2.0
// Deleters that take long: another thread takes over what waits behind them.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <readmost/rcu.hpp>
#include <system_error>
#include <thread>
#include <vector>

#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/refused_threads.hpp"
#include "support/retiring.hpp"
#include "support/sanitizers.hpp"

namespace {

using readmost::rcu_barrier;
using readmost::rcu_default_domain;
using readmost::rcu_domain;
using readmost::rcu_limit_reclaimers;
using readmost::rcu_retire;
using readmost::rcu_statistics_of;
using readmost::separate_rcu_domain;
using std::chrono::milliseconds;
using test::helper_thread;
using test::retire_with;
using test::wait_until;

// Deleters that stay until they are released.
class slow_deleters {
 public:
  template <class Then>
  void retire(rcu_domain& dom, Then then) {
    retire_with(dom, [this, then] {
      ++begun_;
      while (!released_) std::this_thread::sleep_for(milliseconds(1));
      then();
      ++ended_;
    });
  }
  void retire(rcu_domain& dom) {
    retire(dom, [] {});
  }
  bool have_begun(int count) const {
    return wait_until([&] { return begun_ >= count; });
  }
  int begun() const { return begun_; }
  int ended() const { return ended_; }
  void release() { released_ = true; }

 private:
  std::atomic<int> begun_{0}, ended_{0};
  std::atomic<bool> released_{false};
};

class rcu_slow_deleter : public testing::Test {
 protected:
  void retire_counted() {
    retire_with(dom, [this] { ++gone; });
  }
  bool are_gone(int count) {
    return wait_until([&] { return gone >= count; });
  }

  slow_deleters slow;
  std::atomic<int> gone{0};
  separate_rcu_domain dom;
};

TEST_F(rcu_slow_deleter, does_not_stop_what_is_retired_after_it_has_begun) {
  slow.retire(dom);
  ASSERT_TRUE(slow.have_begun(1));
  retire_counted();
  EXPECT_TRUE(are_gone(1)) << "it waits for the slow one";
  for (int i = 0; i < 1000; ++i) retire_counted();
  EXPECT_TRUE(are_gone(1001));
  EXPECT_EQ(slow.ended(), 0);
  slow.release();
  rcu_barrier(dom);
  EXPECT_EQ(slow.ended(), 1);
  EXPECT_EQ(rcu_statistics_of(dom).waiting, 0U);
}

TEST_F(rcu_slow_deleter, does_not_stop_what_was_collected_with_it) {
  helper_thread reader;
  reader.call([&] { return dom.lock(), 0; });
  retire_counted();
  slow.retire(dom);
  for (int i = 0; i < 10; ++i) retire_counted();
  reader.call([&] { return dom.unlock(), 0; });
  EXPECT_TRUE(are_gone(11));
  EXPECT_EQ(slow.ended(), 0);
  slow.release();
}

TEST_F(rcu_slow_deleter, does_not_stop_a_flood) {
  readmost::rcu_limit_backlog(
      {.objects = 128, .bytes = 1 << 30, .policy = readmost::backlog_policy::block}, dom);
  slow.retire(dom);
  helper_thread writer;
  writer.begin([&] {
    for (int i = 0; i < 10'000; ++i) retire_counted();
  });
  EXPECT_EQ(writer.end(), 0);
  EXPECT_EQ(slow.ended(), 0);
  slow.release();
}

// What begins later may end earlier, but it does not begin earlier.
TEST_F(rcu_slow_deleter, does_not_change_the_order_in_which_deleters_begin) {
  std::mutex mutex;
  std::vector<int> order;
  helper_thread reader;
  reader.call([&] { return dom.lock(), 0; });
  for (int i = 0; i < 300; ++i) {
    retire_with(dom, [&, i] {
      {
        const std::scoped_lock held(mutex);
        order.push_back(i);
      }
      if (i % 150 == 50) std::this_thread::sleep_for(milliseconds(500));
    });
  }
  reader.call([&] { return dom.unlock(), 0; });
  rcu_barrier(dom);
  ASSERT_EQ(order.size(), 300U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(rcu_slow_deleter, is_waited_for_by_barriers) {
  helper_thread before, after;
  slow.retire(dom);
  ASSERT_TRUE(slow.have_begun(1));
  before.begin([&] { return rcu_barrier(dom), slow.ended(); });
  retire_counted();
  EXPECT_TRUE(are_gone(1));
  after.begin([&] { return rcu_barrier(dom), slow.ended(); });
  EXPECT_TRUE(before.falls_asleep());
  EXPECT_TRUE(after.falls_asleep());
  EXPECT_TRUE(before.in_call());
  EXPECT_TRUE(after.in_call());
  slow.release();
  EXPECT_EQ(before.end(), 1);
  EXPECT_EQ(after.end(), 1);
}

TEST_F(rcu_slow_deleter, is_not_waited_for_by_barriers_that_were_there_before) {
  slow_deleters later;
  slow.retire(dom);
  ASSERT_TRUE(slow.have_begun(1));
  helper_thread waiter;
  waiter.begin([&] { return rcu_barrier(dom), slow.ended(); });
  EXPECT_TRUE(waiter.falls_asleep());
  retire_counted();  // what is collected with this may still keep the barrier waiting
  EXPECT_TRUE(are_gone(1));
  later.retire(dom);
  ASSERT_TRUE(later.have_begun(1));
  slow.release();
  EXPECT_EQ(waiter.end(), 1) << "new slow deleters must not keep it waiting";
  EXPECT_EQ(later.ended(), 0);
  later.release();
  rcu_barrier(dom);
}

TEST_F(rcu_slow_deleter, is_one_of_a_limited_number) {
  for (const unsigned most : {4U, 2U}) {
    slow_deleters some;
    if (most != 4) rcu_limit_reclaimers(most, dom);
    for (unsigned i = 0; i < most + 2; ++i) some.retire(dom);
    EXPECT_TRUE(some.have_begun(static_cast<int>(most)));
    std::this_thread::sleep_for(milliseconds(500));
    EXPECT_EQ(some.begun(), static_cast<int>(most));
    some.release();
    rcu_barrier(dom);
    EXPECT_EQ(some.ended(), static_cast<int>(most) + 2);
  }
}

TEST_F(rcu_slow_deleter, is_alone_where_the_program_wants_that) {
  rcu_limit_reclaimers(1, dom);
  slow.retire(dom);
  ASSERT_TRUE(slow.have_begun(1));
  int ended = 0;
  retire_with(dom, [&] { ended = slow.ended(); });
  std::this_thread::sleep_for(milliseconds(500));
  slow.release();
  rcu_barrier(dom);
  EXPECT_EQ(ended, 1);
}

// The end of a domain.
TEST_F(rcu_slow_deleter, is_waited_for_at_the_end_of_its_domain) {
  auto brief = std::make_unique<separate_rcu_domain>();
  auto& in = *brief;
  std::atomic<int> last{0};
  slow.retire(in, [&] {
    retire_with(in, [&] { ++last; });
    std::this_thread::sleep_for(milliseconds(20));
  });
  ASSERT_TRUE(slow.have_begun(1));
  retire_with(in, [&] { ++gone; });
  EXPECT_TRUE(are_gone(1));
  helper_thread owner;
  owner.begin([&] { return brief.reset(), slow.ended() + last; });
  EXPECT_TRUE(owner.falls_asleep());
  EXPECT_TRUE(owner.in_call());
  slow.release();
  EXPECT_EQ(owner.end(), 2);
}

int domains_to_be_had() {
  std::vector<std::unique_ptr<separate_rcu_domain>> all;
  try {
    for (;;) all.push_back(std::make_unique<separate_rcu_domain>());
  } catch (const std::system_error&) {
  }
  return static_cast<int>(all.size());
}

TEST_F(rcu_slow_deleter, may_end_its_domain) {
  const int before = domains_to_be_had();
  for (const bool replaced : {true, false}) {
    gone = 0;
    auto* const own = new separate_rcu_domain;
    slow_deleters others;
    std::atomic<int> done{0};
    // One that is replaced, beside or in the thread that ends the domain.
    if (!replaced) {
      others.retire(*own, [&, own] { retire_with(*own, [&] { ++gone; }); });
      ASSERT_TRUE(others.have_begun(1));
    }
    retire_with(*own, [&, own] {
      if (replaced) {
        EXPECT_TRUE(are_gone(1));
      } else {
        std::thread([&] {
          std::this_thread::sleep_for(milliseconds(50));
          others.release();
        }).detach();
      }
      for (int i = 0; i < 10; ++i) retire_with(*own, [&] { ++gone; });
      delete own;
      done = gone.load();
    });
    if (replaced) retire_with(*own, [&] { ++gone; });
    EXPECT_TRUE(wait_until([&] { return done == 11; })) << "something outlives the domain";
    EXPECT_TRUE(wait_until([&] { return domains_to_be_had() == before; })) << "one is lost";
  }
}

TEST_F(rcu_slow_deleter, may_call_barrier_when_it_has_been_replaced) {
  std::atomic<int> seen{0};
  retire_with(dom, [&] {
    EXPECT_TRUE(are_gone(1));
    for (int i = 0; i < 10; ++i) retire_counted();
    rcu_barrier(dom);
    seen = gone.load();
  });
  retire_counted();
  rcu_barrier(dom);
  EXPECT_EQ(seen, 11);
}

// Each of them is behind the other for the other's barrier.
TEST_F(rcu_slow_deleter, may_call_barrier_while_another_does) {
  std::atomic<int> inside{0};
  for (int i = 0; i < 2; ++i) {
    retire_with(dom, [&] {
      ++inside;
      EXPECT_TRUE(wait_until([&] { return inside == 2; }));
      rcu_barrier(dom);
    });
  }
  helper_thread waiter;
  waiter.begin([&] { return rcu_barrier(dom), inside.load(); });
  EXPECT_EQ(waiter.end(), 2) << "they wait for each other";
}

// Also inside the barrier of a deleter, whose thread is then replaced with all that it runs.
TEST_F(rcu_slow_deleter, may_run_in_the_barrier_of_another) {
  std::atomic<int> seen{0};
  retire_with(dom, [&] {
    slow.retire(dom);
    retire_counted();
    rcu_barrier(dom);
    seen = gone + slow.ended();
  });
  EXPECT_TRUE(slow.have_begun(1));
  EXPECT_TRUE(are_gone(1));
  slow.release();
  rcu_barrier(dom);
  EXPECT_EQ(seen, 2);
}

TEST_F(rcu_slow_deleter, leaves_no_threads_behind) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
  };
  std::thread([] {}).join();  // ThreadSanitizer starts one of its own with the first
  const auto before = threads();
  slow.retire(dom);
  slow.retire(dom);
  retire_counted();
  EXPECT_TRUE(are_gone(1));
  EXPECT_GT(threads(), before + 1);
  slow.release();
  EXPECT_TRUE(wait_until([&] { return threads() <= before; })) << "they are idle and stay";
}

#if !UNDER_THREAD_SANITIZER && !UNDER_ADDRESS_SANITIZER
TEST_F(rcu_slow_deleter, is_overtaken_when_the_system_no_longer_refuses_threads) {
  slow.retire(dom);
  ASSERT_TRUE(slow.have_begun(1));
  {
    const test::refused_threads refused;
    retire_counted();
  }
  EXPECT_TRUE(wait_until([&] { return retire_counted(), gone > 0; }));
  slow.release();
}
#endif

TEST_F(rcu_slow_deleter, may_fork_when_it_has_been_replaced) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  test::shared_object<std::atomic<int>> reclaimed;
  for (const bool returns : {false, true}) {
    *reclaimed.operator->() = 0;
    test::shared_object<std::atomic<int>> child;
    retire_with(dom, [&] {
      EXPECT_TRUE(are_gone(1));
      const auto count = [&] { retire_with(dom, [&] { ++*reclaimed.operator->(); }); };
      count();
      rcu_barrier(dom);
      const pid_t id = test::settled_fork();
      if (id != 0) {
        *child.operator->() = id;
        return;
      }
      alarm(test::child_deadline);
      for (int i = 0; i < 10; ++i) count();
      rcu_barrier(dom);
      count();
      if (!returns) {
        rcu_barrier(dom);
        _exit(0);
      }
    });
    retire_counted();
    rcu_barrier(dom);
    const pid_t id = *child.operator->();
    ASSERT_GT(id, 0);
    EXPECT_TRUE(wait_until([&] { return *reclaimed.operator->() == 12; }))
        << *reclaimed.operator->();
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
    gone = 0;
  }
}

TEST_F(rcu_slow_deleter, is_not_in_the_child_of_another_threads_fork) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  slow.retire(dom);
  ASSERT_TRUE(slow.have_begun(1));
  retire_counted();
  EXPECT_TRUE(are_gone(1));
  test::in_a_child([&] {
    rcu_barrier(dom);
    for (int i = 0; i < 10; ++i) retire_counted();
    rcu_barrier(dom);
    EXPECT_EQ(gone, 11);
  });
  slow.release();
}

TEST(rcu_slow_deleter_at_exit, is_awaited_when_others_have_overtaken_it) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  test::shared_object<std::atomic<int>> reclaimed;
  std::fflush(nullptr);
  const pid_t id = test::settled_fork();
  if (id == 0) {
    alarm(test::child_deadline);
    static std::atomic<bool> overtaken{false}, runs{false};
    retire_with(rcu_default_domain(), [&] {
      runs = true;
      while (!overtaken) std::this_thread::sleep_for(milliseconds(1));
      std::this_thread::sleep_for(milliseconds(500));
      ++*reclaimed.operator->();
    });
    while (!runs) std::this_thread::yield();
    retire_with(rcu_default_domain(), [&] {
      overtaken = true;
      ++*reclaimed.operator->();
    });
    std::exit(7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(id, &status, 0), id);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  EXPECT_EQ(*reclaimed.operator->(), 2);
}

}  // namespace
