// SPDX-License-Identifier: Apache-2.0
// RCU reclamation: retired objects, their deleters, barriers and the backlog limit.
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <readmost/rcu.hpp>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "allocation_limit.hpp"
#include "support/helper_thread.hpp"
#include "support/one_cpu.hpp"
#include "support/processes.hpp"
#include "support/refused_threads.hpp"
#include "support/retiring.hpp"
#include "support/sanitizers.hpp"

namespace {

using readmost::backlog_policy;
using readmost::rcu_barrier;
using readmost::rcu_default_domain;
using readmost::rcu_domain;
using readmost::rcu_obj_base;
using readmost::rcu_reader;
using readmost::rcu_reclaim_by;
using readmost::rcu_retire;
using readmost::rcu_statistics_of;
using readmost::rcu_synchronize;
using readmost::reclaiming;
using readmost::separate_rcu_domain;
using std::chrono::milliseconds;
using std::chrono::steady_clock;
using test::helper_thread;
using test::retire_with;
using test::wait_until;

// Counts its instances.
class counted {
 public:
  counted() { ++living; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --living; }
  static inline std::atomic<int> living{0};
};
struct based : counted, rcu_obj_base<based> {};

// Calls a function with the object, then deletes the object.
template <class Action>
class and_delete {
 public:
  explicit and_delete(Action action) : action_(std::move(action)) {}
  template <class T>
  void operator()(T* p) {
    action_();
    delete p;
  }

 private:
  Action action_;
};

// Each test has a separate domain and runs under both ways of reclaiming.
class rcu_reclamation : public testing::TestWithParam<reclaiming> {
 protected:
  rcu_reclamation() { rcu_reclaim_by(GetParam(), dom); }
  bool in_place() const { return GetParam() == reclaiming::in_place; }

  separate_rcu_domain dom;
};
INSTANTIATE_TEST_SUITE_P(by, rcu_reclamation,
                         testing::Values(reclaiming::in_background, reclaiming::in_place));

// --- Retiring and barriers -----------------------------------------------------------------------

TEST_P(rcu_reclamation, deletes_after_the_section_of_another_thread) {
  helper_thread reader;
  reader.call([&] { return dom.lock(), 0; });
  (new based)->retire({}, dom);
  rcu_retire(new counted, {}, dom);
  helper_thread waiter;
  waiter.begin([&] { return rcu_barrier(dom), 1; });
  EXPECT_TRUE(waiter.falls_asleep());
  EXPECT_TRUE(waiter.in_call());
  EXPECT_EQ(counted::living, 2);
  EXPECT_EQ(rcu_statistics_of(dom).waiting, 2U);
  reader.call([&] { return dom.unlock(), 0; });
  EXPECT_EQ(waiter.end(), 1);
  EXPECT_EQ(counted::living, 0);
  EXPECT_EQ(rcu_statistics_of(dom).waiting, 0U);
}

TEST_P(rcu_reclamation, runs_deleters_oldest_first) {
  std::vector<int> order;
  for (int i = 0; i < 1000; ++i) retire_with(dom, [&order, i] { order.push_back(i); });
  rcu_barrier(dom);
  ASSERT_EQ(order.size(), 1000U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_P(rcu_reclamation, by_a_barrier_is_complete_for_every_thread) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        for (int left = 10; left > 0; --left) (new based)->retire({}, dom);
      });
    }
    (new based)->retire({}, dom);
    for (std::thread& one : threads) one.join();
    rcu_barrier(dom);
    ASSERT_EQ(counted::living, 0);
  }
}

TEST_P(rcu_reclamation, by_barriers_of_many_threads_is_complete_for_each) {
  std::atomic<int> missed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 300; ++round) {
        std::atomic<int> gone{0};
        for (int left = 3; left > 0; --left) retire_with(dom, [&gone] { ++gone; });
        rcu_barrier(dom);
        if (gone != 3) ++missed;
      }
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_EQ(missed, 0);
}

TEST_P(rcu_reclamation, outlives_the_thread_that_retired) {
  helper_thread reader;
  reader.call([&] { return dom.lock(), 0; });
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      for (int left = 5; left > 0; --left) (new based)->retire({}, dom);
    }).join();
  }
  EXPECT_EQ(counted::living, 100);
  EXPECT_EQ(rcu_statistics_of(dom).waiting, 100U);
  reader.call([&] { return dom.unlock(), 0; });
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
}

TEST_P(rcu_reclamation, ends_with_the_domain) {
  std::atomic<int> gone{0};
  for (int round = 0; round < 20; ++round) {
    separate_rcu_domain brief;
    rcu_reclaim_by(GetParam(), brief);
    for (int left = 10; left > 0; --left) retire_with(brief, [&gone] { ++gone; });
  }
  EXPECT_EQ(gone, 200);
}

TEST_P(rcu_reclamation, statistics_count_what_is_retired_and_reclaimed) {
  const auto before = rcu_statistics_of(dom);
  // The figures are not of one moment while objects are being reclaimed.
  helper_thread reader;
  reader.call([&] { return dom.lock(), 0; });
  for (int i = 0; i < 100; ++i) (new based)->retire({}, dom);
  EXPECT_EQ(rcu_statistics_of(dom).retired - before.retired, 100U);
  reader.call([&] { return dom.unlock(), 0; });
  rcu_barrier(dom);
  const auto after = rcu_statistics_of(dom);
  EXPECT_EQ(after.retired - before.retired, 100U);
  EXPECT_EQ(after.reclaimed - before.reclaimed, 100U);
  EXPECT_GT(after.grace_periods, before.grace_periods);
  EXPECT_EQ(after.waiting, 0U);
  EXPECT_EQ(after.waiting_bytes, 0U);
}

TEST_P(rcu_reclamation, statistics_know_the_bytes_that_wait) {
  struct large : rcu_obj_base<large> {
    char content[10'000];
  };
  helper_thread reader;
  reader.call([&] { return dom.lock(), 0; });
  for (int i = 0; i < 10; ++i) (new large)->retire({}, dom);
  EXPECT_EQ(rcu_statistics_of(dom).waiting_bytes, 10 * sizeof(large));
  reader.call([&] { return dom.unlock(), 0; });
  rcu_barrier(dom);
  EXPECT_EQ(rcu_statistics_of(dom).waiting_bytes, 0U);
}

// --- What can be a deleter, and what an object ---------------------------------------------------

TEST_P(rcu_reclamation, keeps_the_state_of_a_deleter) {
  struct noted : rcu_obj_base<noted, std::function<void(noted*)>> {};
  int sum = 0;
  (new noted)->retire([&, by = 1](noted* p) { delete p, sum += by; }, dom);
  rcu_retire(new int(10), std::function<void(int*)>([&](int* p) { sum += *p, delete p; }), dom);
  rcu_barrier(dom);
  EXPECT_EQ(sum, 11);
}

class owning {
 public:
  owning() = default;
  explicit owning(std::shared_ptr<int> sum) : sum_(std::move(sum)) {}
  owning(owning&&) = default;
  owning& operator=(owning&&) = default;
  template <class T>
  void operator()(T* p) {
    ++*sum_;
    delete p;
  }

 private:
  std::shared_ptr<int> sum_;
};

TEST_P(rcu_reclamation, takes_deleters_that_can_only_be_moved) {
  struct noted : rcu_obj_base<noted, owning> {};
  const auto sum = std::make_shared<int>(0);
  (new noted)->retire(owning(sum), dom);
  rcu_retire(new int, owning(sum), dom);
  rcu_barrier(dom);
  EXPECT_EQ(*sum, 2);
  EXPECT_EQ(sum.use_count(), 1) << "a deleter outlived its use";
}

// Only to be moved once more, into what is retired: no assignment, no default.
TEST_P(rcu_reclamation, asks_of_a_free_deleter_no_more_than_to_be_moved) {
  int& count = *new int(0);
  rcu_retire(
      new int, [&count, own = std::make_unique<int>(7)](int* p) { delete p, count += *own; }, dom);
  rcu_barrier(dom);
  EXPECT_EQ(count, 7);
  delete &count;
}

struct unknown;
struct by_unknown : rcu_obj_base<unknown> {};  // fine as long as nothing of it is used
unknown* make_unknown();
void drop_unknown(unknown* p);

TEST_P(rcu_reclamation, takes_objects_of_a_type_that_only_the_deleter_knows) {
  rcu_retire(make_unknown(), drop_unknown, dom);
  rcu_retire(static_cast<void*>(std::malloc(8)), std::free, dom);
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
}

struct unknown : counted {};
unknown* make_unknown() {
  return new unknown;
}
void drop_unknown(unknown* p) {
  delete p;
}

TEST_P(rcu_reclamation, finds_the_object_behind_several_bases) {
  struct other {
    virtual ~other() = default;
    long content = 5;
  };
  struct both : other, counted, rcu_obj_base<both> {};
  (new both)->retire({}, dom);
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
}

TEST_P(rcu_reclamation, does_not_copy_what_is_queued_with_an_object) {
#if defined(READMOST_THREAD_SANITIZER)
  GTEST_SKIP() << "a copy's two words, of which nothing is used, race with the reclaimer";
#endif
  struct content : rcu_obj_base<content> {
    int value = 0;
  };
  auto* const old = new content;
  old->value = 1;
  auto* fresh = static_cast<content*>(nullptr);
  {
    const std::scoped_lock section(dom);
    old->retire({}, dom);
    fresh = new content(*old);
  }
  EXPECT_EQ(fresh->value, 1);
  content assigned;
  assigned = *fresh;
  fresh->retire({}, dom);
  rcu_barrier(dom);
}

TEST_P(rcu_reclamation, does_not_happen_to_what_there_was_no_memory_for) {
  SKIP_WHERE_MEMORY_CANNOT_RUN_OUT();
  const auto before = rcu_statistics_of(dom).retired;
  const auto object = std::make_unique<counted>();
  bool thrown = false;
  try {
    const test::allocation_limit none(0);
    rcu_retire(object.get(), {}, dom);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  EXPECT_TRUE(thrown);
  rcu_barrier(dom);
  EXPECT_EQ(rcu_statistics_of(dom).retired, before);
  EXPECT_EQ(counted::living, 1);
}

TEST_P(rcu_reclamation, of_objects_with_a_base_needs_no_memory) {
  SKIP_WHERE_MEMORY_CANNOT_RUN_OUT();
  auto* const object = new based;
  rcu_retire(new counted, {}, dom);  // the reclaiming thread has been started
  {
    const test::allocation_limit none(0);
    object->retire({}, dom);
    rcu_barrier(dom);
  }
  EXPECT_EQ(counted::living, 0);
}

// --- What a deleter may do -----------------------------------------------------------------------

TEST_P(rcu_reclamation, runs_deleters_that_retire) {
  static std::atomic<int> left;
  struct chain {
    static void link(rcu_domain& dom) {
      if (left-- > 0) retire_with(dom, [&dom] { link(dom); });
    }
  };
  left = 100;
  chain::link(dom);
  EXPECT_TRUE(wait_until([&] { return rcu_barrier(dom), left < 0; }));
}

TEST_P(rcu_reclamation, runs_deleters_that_wait_for_grace_periods_and_open_sections) {
  int done = 0;
  retire_with(dom, [&] {
    rcu_synchronize(dom);
    rcu_synchronize();
    std::scoped_lock sections(dom, rcu_default_domain());
    ++done;
  });
  rcu_barrier(dom);
  EXPECT_EQ(done, 1);
}

TEST_P(rcu_reclamation, runs_deleters_that_call_barrier) {
  std::vector<int> order;
  for (int i = 0; i < 200; ++i) {
    retire_with(dom, [&, i] {
      if (i % 50 == 10) {
        retire_with(dom, [&] { order.push_back(-1); });
        rcu_barrier(dom);
        // All but itself, including those queued behind it.
        EXPECT_EQ(rcu_statistics_of(dom).waiting <= 200, true);
      }
      order.push_back(i);
    });
  }
  rcu_barrier(dom);
  EXPECT_EQ(order.size(), 204U);
  EXPECT_EQ(rcu_statistics_of(dom).waiting, 0U);
}

TEST_P(rcu_reclamation, by_a_barrier_in_a_deleter_is_complete_but_for_that) {
  bool complete = false;
  retire_with(dom, [&] {
    int later = 0;
    for (int i = 0; i < 10; ++i) retire_with(dom, [&later] { ++later; });
    rcu_barrier(dom);
    complete = later == 10;
  });
  rcu_barrier(dom);
  EXPECT_TRUE(complete);
}

TEST_P(rcu_reclamation, runs_deleters_that_make_and_end_domains) {
  std::atomic<int> done{0};
  retire_with(dom, [&] {
    separate_rcu_domain inner;
    retire_with(inner, [&] { ++done; });
    rcu_synchronize(inner);
  });
  rcu_barrier(dom);
  EXPECT_EQ(done, 1);
}

// Not those that a deleter's own fault raises: the kernel would end the process without calling the
// program's handler.
TEST(rcu_reclaimer, runs_deleters_with_asynchronous_signals_blocked) {
  sigset_t mask;
  sigemptyset(&mask);
  retire_with(rcu_default_domain(), [&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); });
  rcu_barrier();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGALRM, SIGCHLD, SIGPROF})
    EXPECT_EQ(sigismember(&mask, signal), 1) << signal;
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL})
    EXPECT_EQ(sigismember(&mask, signal), 0) << signal;
}

// Whatever the thread is confined to that retires first.
TEST(rcu_reclaimer, has_the_cpus_and_the_priority_of_the_process) {
  cpu_set_t of_process, of_reclaimer;
  ASSERT_EQ(sched_getaffinity(getpid(), sizeof of_process, &of_process), 0);
  CPU_ZERO(&of_reclaimer);
  int policy = -1;
  separate_rcu_domain dom;
  std::thread([&] {
    const test::one_cpu here;
    sched_param urgent{};
    urgent.sched_priority = 1;
    sched_setscheduler(0, SCHED_FIFO, &urgent);  // if the user may
    retire_with(dom, [&] {
      sched_getaffinity(0, sizeof of_reclaimer, &of_reclaimer);
      policy = sched_getscheduler(0);
    });
  }).join();
  rcu_barrier(dom);
  EXPECT_TRUE(CPU_EQUAL(&of_process, &of_reclaimer));
  EXPECT_EQ(policy, SCHED_OTHER);
}

TEST(rcu_reclaimer, has_the_nice_value_of_the_process) {
  const auto nice_of = [](pid_t thread) {
    return getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  };
  separate_rcu_domain dom;
  const int of_process = nice_of(getpid());
  int of_reclaimer = -21;
  int expected = of_process;
  std::thread([&] {
    // A thread may always make itself nicer, but not every user may undo that.
    setpriority(PRIO_PROCESS, 0, of_process + 5);
    setpriority(PRIO_PROCESS, 0, of_process);
    expected = nice_of(0);
    setpriority(PRIO_PROCESS, 0, of_process + 5);
    retire_with(dom, [&] { of_reclaimer = nice_of(0); });
  }).join();
  rcu_barrier(dom);
  EXPECT_EQ(of_reclaimer, expected);
}

TEST(rcu_reclaimer, does_not_run_deleters_in_the_threads_that_retire) {
  const std::thread::id mine = std::this_thread::get_id();
  std::atomic<int> here{0};
  for (int i = 0; i < 10'000; ++i)
    retire_with(rcu_default_domain(), [&] { here += std::this_thread::get_id() == mine; });
  rcu_barrier();
  EXPECT_EQ(here, 0);
}

TEST(rcu_reclaimer, may_take_a_lock_that_the_retiring_thread_holds) {
  separate_rcu_domain dom;
  readmost::rcu_limit_backlog({.objects = 128, .bytes = 1 << 20}, dom);
  std::mutex mutex;
  int sum = 0;
  {
    // Above the limit as well.
    std::scoped_lock held(mutex);
    for (int i = 0; i < 300; ++i) {
      retire_with(dom, [&] {
        std::scoped_lock inner(mutex);
        ++sum;
      });
    }
    EXPECT_EQ(sum, 0);
  }
  rcu_barrier(dom);
  EXPECT_EQ(sum, 300);
}

TEST(rcu_reclaimer, is_not_there_where_deleters_run_in_place) {
  separate_rcu_domain dom;
  rcu_reclaim_by(reclaiming::in_place, dom);
  const std::thread::id mine = std::this_thread::get_id();
  int here = 0;
  for (int i = 0; i < 1000; ++i) {
    std::scoped_lock section(dom);
    retire_with(dom, [&] { here += std::this_thread::get_id() == mine; });
  }
  EXPECT_EQ(here, 0) << "inside a section";
  for (int i = 0; i < 1000; ++i)
    retire_with(dom, [&] { here += std::this_thread::get_id() == mine; });
  EXPECT_GE(here, 1000) << "retiring has reclaimed nothing";
  rcu_barrier(dom);
  EXPECT_EQ(here, 2000);
}

TEST(rcu_reclaimer, is_not_there_where_the_program_itself_reclaims) {
  separate_rcu_domain dom;
  rcu_reclaim_by(reclaiming::on_request, dom);
  helper_thread reader, worker;
  std::atomic<int> gone{0}, elsewhere{0};
  const auto retire_some = [&](std::thread::id where) {
    for (int i = 0; i < 500; ++i)
      retire_with(dom, [&, where] { ++gone, elsewhere += std::this_thread::get_id() != where; });
  };
  std::thread::id of_worker;
  worker.call([&] { return of_worker = std::this_thread::get_id(), 0; });
  reader.call([&] { return dom.lock(), 0; });
  retire_some(of_worker);
  EXPECT_TRUE(readmost::rcu_reclaim(dom)) << "the reader is still there";
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_EQ(gone, 0);
  reader.call([&] { return dom.unlock(), 0; });
  worker.call([&] {
    while (readmost::rcu_reclaim(dom)) {
    }
  });
  EXPECT_EQ(gone, 500);
  retire_some(std::this_thread::get_id());
  rcu_barrier(dom);
  EXPECT_EQ(gone, 1000);
  EXPECT_EQ(elsewhere, 0);
  EXPECT_FALSE(readmost::rcu_reclaim(dom));
}

// --- The limit of the backlog --------------------------------------------------------------------

constexpr int limit = 256;

// If each 64 of them had to wait for 0.1 s, this would take far longer than `generous`.
constexpr int stalled_flood = limit + 64 * 250;

TEST_P(rcu_reclamation, slows_a_flood_down_once_for_a_reader_that_stays) {
  readmost::rcu_limit_backlog({.objects = limit, .bytes = 1 << 30}, dom);
  helper_thread reader, writer;
  reader.call([&] { return dom.lock(), 0; });
  int slowed_down_at = stalled_flood;
  writer.begin([&] {
    for (int i = 0; i < stalled_flood; ++i) {
      const auto before = steady_clock::now();
      (new based)->retire({}, dom);
      if (steady_clock::now() - before > milliseconds(50)) {
        slowed_down_at = std::min(slowed_down_at, i);
      }
    }
  });
  EXPECT_EQ(writer.end(), 0) << "a reader that stays must not stop writers for good";
  EXPECT_LE(slowed_down_at, limit + 64) << "it might have left soon";
  EXPECT_EQ(counted::living, stalled_flood);
  reader.call([&] { return dom.unlock(), 0; });
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
}

// A deleter, or a reader, that waits for the writer.
TEST_P(rcu_reclamation, slows_a_flood_down_once_for_what_the_writer_itself_delays) {
  readmost::rcu_limit_backlog({.objects = limit, .bytes = 1 << 30}, dom);
  std::mutex mutex;
  std::atomic<bool> inside{false};
  helper_thread reader, writer;
  writer.begin([&] {
    const std::scoped_lock held(mutex);
    reader.begin([&] {
      const std::scoped_lock section(dom);
      inside = true;
      const std::scoped_lock inner(mutex);
    });
    while (!inside) std::this_thread::yield();
    for (int i = 0; i < stalled_flood; ++i) (new based)->retire({}, dom);
  });
  EXPECT_EQ(writer.end(), 0);
  EXPECT_EQ(reader.end(), 0);
  if (in_place()) return;  // there deleters run under the writer's lock
  writer.begin([&] {
    const std::scoped_lock held(mutex);
    for (int i = 0; i < stalled_flood; ++i) {
      retire_with(dom, [&] { const std::scoped_lock inner(mutex); });
    }
  });
  EXPECT_EQ(writer.end(), 0);
  rcu_barrier(dom);
}

TEST_P(rcu_reclamation, lets_a_flood_go_on_when_the_reader_has_left) {
  readmost::rcu_limit_backlog({.objects = limit, .bytes = 1 << 30, .policy = backlog_policy::block},
                              dom);
  helper_thread reader, writer;
  reader.call([&] { return dom.lock(), 0; });
  writer.begin([&] {
    for (int i = 0; i < 100'000; ++i) (new based)->retire({}, dom);
  });
  EXPECT_TRUE(wait_until([] { return counted::living > limit; }));
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_TRUE(writer.in_call());
  EXPECT_LE(counted::living, limit + 64) << "only the end of the section lets it go on";
  reader.call([&] { return dom.unlock(), 0; });
  EXPECT_EQ(writer.end(), 0);
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
}

TEST_P(rcu_reclamation, does_not_slow_a_flood_down_that_it_only_warns_of) {
  readmost::rcu_warn_of_stalls_after({});  // without the warning
  readmost::rcu_limit_backlog({.objects = limit, .bytes = 1 << 30, .policy = backlog_policy::warn},
                              dom);
  helper_thread reader;
  reader.call([&] { return dom.lock(), 0; });
  for (int i = 0; i < stalled_flood; ++i) (new based)->retire({}, dom);
  EXPECT_EQ(counted::living, stalled_flood);
  reader.call([&] { return dom.unlock(), 0; });
  rcu_barrier(dom);
  readmost::rcu_warn_of_stalls_after(std::chrono::seconds(10));
}

TEST_P(rcu_reclamation, is_refused_above_the_limit_to_who_only_tries) {
  readmost::rcu_limit_backlog({.objects = limit, .bytes = 1 << 30}, dom);
  helper_thread reader;
  reader.call([&] { return dom.lock(), 0; });
  int retired = 0;
  auto object = std::make_unique<based>();
  for (int i = 0; i < 10 * limit && object->try_retire({}, dom); ++i) {
    ++retired;
    object.release();
    object = std::make_unique<based>();
    std::scoped_lock section(dom);  // no exception from the limit
    auto other = std::make_unique<counted>();
    if (readmost::rcu_try_retire(other.get(), {}, dom)) ++retired, other.release();
  }
  EXPECT_GE(retired, limit);
  EXPECT_LE(retired, limit + 65);
  EXPECT_EQ(counted::living, retired + 1) << "what was refused is the caller's";
  EXPECT_EQ(rcu_statistics_of(dom).waiting, static_cast<unsigned>(retired));
  reader.call([&] { return dom.unlock(), 0; });
  EXPECT_TRUE(wait_until([&] { return object->try_retire({}, dom); }));
  object.release();
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
}

TEST_P(rcu_reclamation, keeps_to_the_limit_of_bytes) {
  struct large : counted, rcu_obj_base<large> {
    char content[100'000];
  };
  readmost::rcu_limit_backlog(
      {.objects = 1 << 20, .bytes = 1 << 20, .policy = backlog_policy::block}, dom);
  helper_thread reader, writer;
  reader.call([&] { return dom.lock(), 0; });
  writer.begin([&] {
    for (int i = 0; i < 1000; ++i) (new large)->retire({}, dom);
  });
  EXPECT_TRUE(writer.falls_asleep() || in_place());
  EXPECT_LT(counted::living, 100);
  reader.call([&] { return dom.unlock(), 0; });
  EXPECT_EQ(writer.end(), 0);
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
}

TEST_P(rcu_reclamation, does_not_slow_down_who_is_inside_a_section_or_a_deleter) {
  constexpr int flood = 20'000;  // else half a minute
  readmost::rcu_limit_backlog({.objects = 64, .bytes = 1 << 30}, dom);
  const auto start = steady_clock::now();
  {
    std::scoped_lock section(dom);
    for (int i = 0; i < flood; ++i) (new based)->retire({}, dom);
  }
  EXPECT_LT(steady_clock::now() - start, test::generous);
  retire_with(dom, [&] {
    for (int i = 0; i < flood; ++i) (new based)->retire({}, dom);
  });
  rcu_barrier(dom);
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
  EXPECT_LT(steady_clock::now() - start, 2 * test::generous);
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST_P(rcu_reclamation, of_a_flood_keeps_memory_bounded) {
#if UNDER_THREAD_SANITIZER || UNDER_ADDRESS_SANITIZER
  constexpr int flood = 300'000;
  constexpr std::size_t bound = 1U << 30;
#else
  constexpr int flood = 10'000'000;
  constexpr std::size_t bound = 64U << 20;
#endif
  struct node : rcu_obj_base<node> {
    char content[64];
  };
  constexpr int writers = 2;
  const std::size_t before = resident_bytes();
  std::size_t most_bytes = 0;
  std::uint64_t most_waiting = 0;
  std::atomic<int> busy{writers};
  std::vector<std::thread> threads;
  for (int i = 0; i < writers; ++i) {
    threads.emplace_back([&] {
      for (int left = flood / writers; left > 0; --left) {
        if (left % 16 == 0) std::scoped_lock section(dom);
        (new node)->retire({}, dom);
      }
      --busy;
    });
  }
  while (busy != 0) {
    most_bytes = std::max(most_bytes, resident_bytes());
    most_waiting = std::max(most_waiting, rcu_statistics_of(dom).waiting);
    std::this_thread::sleep_for(milliseconds(1));
  }
  for (std::thread& one : threads) one.join();
  EXPECT_LT(most_bytes - before, bound);
  // The counts of two threads and of the reclaimer are read one after another.
  EXPECT_LE(most_waiting, readmost::backlog_limit{}.objects + 64U * (writers + 2) + 1000);
  rcu_barrier(dom);
  EXPECT_EQ(rcu_statistics_of(dom).waiting, 0U);
}

// --- The end of a domain -------------------------------------------------------------------------

TEST_P(rcu_reclamation, ends_with_the_domain_also_for_what_deleters_retire) {
  static std::atomic<int> gone;
  struct chain {
    static void link(rcu_domain& of, int left) {
      retire_with(of, [&of, left] {
        ++gone;
        if (left > 1) link(of, left - 1);
      });
    }
  };
  for (int round = 0; round < 20; ++round) {
    gone = 0;
    {
      separate_rcu_domain brief;
      rcu_reclaim_by(GetParam(), brief);
      chain::link(brief, 20);
    }
    ASSERT_EQ(gone, 20) << "a deleter ran without its domain";
  }
}

// Returns how many there are, so that an earlier one that was not given back is missed.
std::size_t domains_to_be_had() {
  std::vector<std::unique_ptr<separate_rcu_domain>> all;
  try {
    for (;;) all.push_back(std::make_unique<separate_rcu_domain>());
  } catch (const std::system_error&) {
  }
  return all.size();
}

TEST_P(rcu_reclamation, runs_a_deleter_that_destroys_its_domain) {
  struct server : counted, rcu_obj_base<server> {
    separate_rcu_domain own;
  };
  const std::size_t before = domains_to_be_had();
  for (int round = 0; round < 20; ++round) {
    auto& one = *new server;
    rcu_reclaim_by(GetParam(), one.own);
    std::atomic<int> gone{0};
    retire_with(one.own, [&gone] { ++gone; });
    one.retire({}, one.own);
    // On a slow host retire() has reclaimed it by now, and the domain is gone.
    if (in_place() && counted::living != 0) rcu_barrier(one.own);
    EXPECT_TRUE(wait_until([] { return counted::living == 0; })) << "it waits for itself";
    EXPECT_EQ(gone, 1);
  }
  EXPECT_TRUE(wait_until([&] { return domains_to_be_had() == before; })) << "one is lost";
}

// --- Laziness and haste, and life without a thread -----------------------------------------------

// The domain has reclaimed something just now, and has all the time in the world.
void make_lazy(rcu_domain& dom) {
  readmost::rcu_limit_laziness(std::chrono::hours(1), dom);
  (new based)->retire({}, dom);
  EXPECT_TRUE(wait_until([] { return counted::living == 0; })) << "the first one does not wait";
}
void retire_some(int count, rcu_domain& dom) {
  for (int left = count; left > 0; --left) {
    (new based)->retire({}, dom);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

TEST(rcu_reclaimer, takes_what_is_retired_soon_afterwards_together) {
  separate_rcu_domain dom;
  make_lazy(dom);
  const auto before = rcu_statistics_of(dom).grace_periods;
  retire_some(100, dom);
  EXPECT_EQ(counted::living, 100);
  EXPECT_EQ(rcu_statistics_of(dom).grace_periods, before);
  rcu_barrier(dom);
  EXPECT_EQ(counted::living, 0);
  EXPECT_EQ(rcu_statistics_of(dom).grace_periods, before + 1);
}

TEST(rcu_reclaimer, is_not_lazy_for_who_is_in_a_hurry) {
  separate_rcu_domain dom;
  make_lazy(dom);
  retire_some(10, dom);
  readmost::rcu_hurry(dom);
  EXPECT_TRUE(wait_until([] { return counted::living == 0; }));
}

TEST(rcu_reclaimer, is_not_lazy_when_much_has_gathered) {
  separate_rcu_domain dom;
  readmost::rcu_limit_backlog({.objects = 8 * 64, .bytes = 1 << 30}, dom);
  make_lazy(dom);
  // What the thread has not counted yet remains.
  for (int left = 4 * 64; left > 0; --left) (new based)->retire({}, dom);
  EXPECT_TRUE(wait_until([] { return counted::living < 2 * 64; }));
  rcu_barrier(dom);
}

TEST(rcu_reclaimer, is_never_lazy_where_that_is_forbidden) {
  separate_rcu_domain dom;
  readmost::rcu_limit_laziness({}, dom);
  for (int round = 0; round < 100; ++round) {
    (new based)->retire({}, dom);
    ASSERT_TRUE(wait_until([] { return counted::living == 0; }));
  }
  EXPECT_GE(rcu_statistics_of(dom).grace_periods, 100U);
}

TEST(rcu_reclaimer, is_lazy_for_a_while_only) {
  separate_rcu_domain dom;
  readmost::rcu_limit_laziness(milliseconds(50), dom);
  for (int round = 0; round < 3; ++round) {
    retire_some(10, dom);
    EXPECT_TRUE(wait_until([] { return counted::living == 0; }));
  }
}

// A reader that sleeps in between reports at each section: a lazy reclaimer waits for that.
TEST(rcu_reclaimer, needs_no_membarrier_where_it_is_lazy_and_readers_come_back) {
  separate_rcu_domain dom;
  readmost::rcu_limit_laziness(milliseconds(20), dom);
  std::atomic<bool> over{false};
  std::thread reader([&] {
    while (!over) {
      {
        const rcu_reader section(dom);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  const auto before = rcu_statistics_of(dom);
  const auto made = [&] { return rcu_statistics_of(dom).grace_periods - before.grace_periods; };
  const bool has_made = wait_until([&] {
    (new based)->retire({}, dom);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    return made() >= 10;
  });
  const auto by_membarrier = rcu_statistics_of(dom).by_membarrier - before.by_membarrier;
  over = true;
  reader.join();
  EXPECT_TRUE(has_made);
  EXPECT_LE(by_membarrier, 5U) << "of " << made();
  rcu_barrier(dom);
}

TEST(rcu_reclaimer, does_not_wait_for_good_for_readers_that_do_not_come_back) {
  separate_rcu_domain dom;
  readmost::rcu_limit_laziness(milliseconds(20), dom);
  helper_thread reader;
  for (int round = 0; round < 3; ++round) {
    reader.call([&] { return dom.lock(), dom.unlock(), 0; });
    retire_some(5, dom);
    EXPECT_TRUE(wait_until([] { return counted::living == 0; }));
  }
}

// Whatever the reclaimer waits for at that moment: company, or reports.
TEST(rcu_reclaimer, is_not_lazy_for_a_barrier_while_a_reader_has_not_reported) {
  separate_rcu_domain dom;
  helper_thread reader;
  for (const int pause : {1, 5, 11, 13, 17}) {
    make_lazy(dom);
    readmost::rcu_limit_laziness(milliseconds(10), dom);
    reader.call([&] { return dom.lock(), dom.unlock(), 0; });
    (new based)->retire({}, dom);
    std::this_thread::sleep_for(milliseconds(pause));
    rcu_barrier(dom);
    EXPECT_EQ(counted::living, 0);
  }
}

#if !UNDER_THREAD_SANITIZER && !UNDER_ADDRESS_SANITIZER
TEST(rcu_reclaimer, is_started_when_the_system_no_longer_refuses_it) {
  separate_rcu_domain dom;
  const std::thread::id mine = std::this_thread::get_id();
  std::atomic<int> gone{0}, here{0};
  const auto retire_one = [&] {
    retire_with(dom, [&] { ++gone, here += std::this_thread::get_id() == mine; });
  };
  {
    const test::refused_threads refused;
    for (int i = 0; i < 200; ++i) retire_one();
    EXPECT_EQ(gone, 0) << "they wait for a thread, or for a barrier";
    rcu_barrier(dom);
    EXPECT_EQ(here, 200);
    for (int i = 0; i < 200; ++i) retire_one();
    EXPECT_EQ(gone, 200);
  }
  EXPECT_TRUE(wait_until([&] { return retire_one(), gone > 400; }));
  rcu_barrier(dom);
  EXPECT_EQ(here, 200) << "the thread that retires must not run deleters";
}
#endif

TEST_P(rcu_reclamation, in_a_hurry_needs_no_barrier) {
  for (int round = 0; round < 100; ++round) {
    (new based)->retire({}, dom);
    EXPECT_TRUE(wait_until([&] { return readmost::rcu_hurry(dom), counted::living == 0; }));
  }
}

TEST(rcu_reclaimer, deletes_without_being_asked) {
  for (int round = 0; round < 100; ++round) {
    (new based)->retire();
    EXPECT_TRUE(wait_until([] { return counted::living == 0; }));
  }
}

TEST(rcu_reclaimer, is_not_started_against_the_environment) {
  test::in_a_child([] {
    setenv("READMOST_RCU_THREAD", "0", 1);
    const auto mine = std::this_thread::get_id();
    int here = 0;
    for (int i = 0; i < 1000; ++i)
      retire_with(rcu_default_domain(), [&] { here += std::this_thread::get_id() == mine; });
    EXPECT_GE(here, 500) << "retiring has reclaimed nothing";
    rcu_barrier();
    EXPECT_EQ(here, 1000);
  });
}

}  // namespace
