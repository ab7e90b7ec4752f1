// SPDX-License-Identifier: Apache-2.0
// RCU at the ends of threads and processes: exits, forks, and where there is no membarrier.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <readmost/rcu.hpp>
#include <thread>
#include <vector>

#include "support/forbidden_calls.hpp"
#include "support/fork_stress.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/refused_threads.hpp"
#include "support/retiring.hpp"
#include "support/sanitizers.hpp"

namespace {

using namespace readmost::detail;
using readmost::rcu_barrier;
using readmost::rcu_default_domain;
using readmost::rcu_domain;
using readmost::rcu_obj_base;
using readmost::rcu_reader;
using readmost::rcu_retire;
using readmost::rcu_statistics_of;
using readmost::rcu_synchronize;
using readmost::separate_rcu_domain;
using std::chrono::seconds;
using std::chrono::steady_clock;
using test::helper_thread;
using test::in_a_child;
using test::retire_with;
using test::shared_object;
using test::wait_until;

// RCU has already forgotten a thread when its last destructor runs.
#if defined(READMOST_THREAD_SANITIZER)
#define SKIP_WHERE_NOTHING_RUNS_BEHIND_THE_EXIT() GTEST_SKIP() << "ThreadSanitizer cannot"
#else
#define SKIP_WHERE_NOTHING_RUNS_BEHIND_THE_EXIT()
#endif

using counter = shared_object<std::atomic<int>>;

void retire_counted(counter& count, rcu_domain& dom = rcu_default_domain()) {
  retire_with(dom, [&count] { ++*count.operator->(); });
}

// --- Threads -------------------------------------------------------------------------------------

TEST(rcu_thread_exit, ends_the_section_that_was_left_open) {
  for (const bool awaited : {false, true}) {
    std::atomic<int> step{0};
    std::thread reader([&] {
      rcu_default_domain().lock();
      rcu_default_domain().lock();
      step = 1;
      while (step != 2) std::this_thread::yield();
    });
    while (step != 1) std::this_thread::yield();
    helper_thread writer;
    if (awaited) {
      writer.begin([] { return rcu_synchronize(), 1; });
      EXPECT_TRUE(writer.falls_asleep());
    }
    step = 2;
    reader.join();
    if (!awaited) writer.begin([] { return rcu_synchronize(), 1; });
    EXPECT_EQ(writer.end(), 1);
  }
}

TEST(rcu_thread_exit, ends_a_counted_section_that_was_left_open) {
  std::thread([] {
    enlist();
    my_record().mode.store(static_cast<std::uint32_t>(participation::unlisting));
    rcu_default_domain().lock();
    my_record().mode.store(static_cast<std::uint32_t>(participation::offline));
  }).join();
  for (const auto& sections : rcu_default_domain().core().counted_sections) EXPECT_EQ(sections, 0U);
}

// Pthread keys are destroyed in rounds; ours is in the last of them. A key that is set again in
// each is destroyed after it as well, for it was made later.
class late_destructor {
 public:
  explicit late_destructor(void (*in_last_round)()) {
    in_last_round_ = in_last_round;
    rounds_ = 0;
    enlist();  // makes its key first
    pthread_key_create(&key_, [](void* self) {
      if (++rounds_ < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key_, self);
      } else {
        in_last_round_();
      }
    });
  }
  ~late_destructor() { pthread_key_delete(key_); }
  void expect() { pthread_setspecific(key_, this); }

 private:
  static inline pthread_key_t key_;
  static inline void (*in_last_round_)();
  static inline int rounds_;
};

TEST(rcu_thread_exit, is_followed_by_sections_that_count) {
  SKIP_WHERE_NOTHING_RUNS_BEHIND_THE_EXIT();
  static std::atomic<int> step;
  step = 0;
  late_destructor last([] {
    const bool departed = &my_record() == &unregistered;
    rcu_reader section;
    rcu_reader nested;
    step = departed ? 1 : -1;
    while (step != 2) std::this_thread::yield();
  });
  std::thread reader([&] {
    rcu_reader section;
    last.expect();
  });
  while (step == 0) std::this_thread::yield();
  EXPECT_EQ(step, 1) << "this was not behind the exit";
  helper_thread writer;
  writer.begin([] { return rcu_synchronize(), 1; });
  EXPECT_TRUE(writer.falls_asleep());
  EXPECT_TRUE(writer.in_call());
  step = 2;
  EXPECT_EQ(writer.end(), 1);
  reader.join();
}

TEST(rcu_thread_exit, is_followed_by_retirements_that_count) {
  SKIP_WHERE_NOTHING_RUNS_BEHIND_THE_EXIT();
  static std::atomic<int> gone;
  gone = 0;
  late_destructor last([] {
    for (int i = 0; i < 100; ++i) retire_with(rcu_default_domain(), [] { ++gone; });
  });
  std::thread([&] {
    rcu_reader section;
    last.expect();
  }).join();
  rcu_barrier();
  EXPECT_EQ(gone, 100);
  EXPECT_EQ(rcu_statistics_of().waiting, 0U);
}

// --- Forks ---------------------------------------------------------------------------------------

TEST(rcu_fork, child_and_parent_each_reclaim_what_waited) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  counter reclaimed;
  helper_thread reader;
  reader.call([] { return rcu_default_domain().lock(), 0; });
  for (int i = 0; i < 10; ++i) retire_counted(reclaimed);
  // Led by a thread that does not exist in the child.
  std::thread([&] {
    for (int i = 0; i < 10; ++i) retire_counted(reclaimed);
  }).join();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the reclaimer has collected some
  for (int i = 0; i < 10; ++i) retire_counted(reclaimed);
  in_a_child([&] {
    EXPECT_EQ(rcu_statistics_of().waiting, 30U);
    rcu_barrier();
    EXPECT_EQ(*reclaimed.operator->(), 30) << "the parent's reader is not in the child";
    EXPECT_EQ(rcu_statistics_of().waiting, 0U);
    for (int i = 0; i < 10; ++i) retire_counted(reclaimed);
    EXPECT_TRUE(wait_until([&] { return *reclaimed.operator->() == 40; })) << "no reclaimer";
  });
  EXPECT_EQ(rcu_statistics_of().waiting, 30U);
  reader.call([] { return rcu_default_domain().unlock(), 0; });
  rcu_barrier();
  EXPECT_EQ(*reclaimed.operator->(), 70);
}

// Collected in the parent, by a reclaimer that the child does not have.
TEST(rcu_fork, child_reclaims_at_its_exit_what_waited_for_a_reader_of_the_parent) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  counter reclaimed;
  helper_thread reader;
  reader.call([] { return rcu_default_domain().lock(), 0; });
  retire_counted(reclaimed);
  EXPECT_TRUE(wait_until([] { return my_record().retired_latest.load() == nullptr; }));
  const pid_t child = test::settled_fork();
  if (child == 0) std::exit(0);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(*reclaimed.operator->(), 1) << "the parent's reader is not in the child";
  reader.call([] { return rcu_default_domain().unlock(), 0; });
  rcu_barrier();
  EXPECT_EQ(*reclaimed.operator->(), 2);
}

// Between its two steps: queued, but the chunk does not say so yet.
TEST(rcu_fork, child_finds_what_another_thread_was_just_retiring) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  counter reclaimed;
  helper_thread reader, writer;
  reader.call([] { return rcu_default_domain().lock(), 0; });
  rcu_synchronize(*std::make_unique<separate_rcu_domain>());
  retire_counted(reclaimed);
  EXPECT_TRUE(wait_until([] { return my_record().retired_latest.load() == nullptr; }));
  writer.call([&] { return retire_counted(reclaimed), 0; });
  writer.call([&] { return chunk_of(my_record()).retiring.store(0), 0; });
  in_a_child([&] {
    rcu_barrier();
    EXPECT_EQ(*reclaimed.operator->(), 2);
  });
  writer.call([&] {
    const thread_record& me = my_record();
    return chunk_of(me).retiring.fetch_or(std::uint64_t{1} << number_of(me)), 0;
  });
  reader.call([] { return rcu_default_domain().unlock(), 0; });
  rcu_barrier();
  EXPECT_EQ(*reclaimed.operator->(), 4);
}

// Wherever the reclaimer was in moving them.
TEST(rcu_fork, child_loses_at_most_what_a_thread_had_in_hand) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  test::fork_stress<rcu_obj_base>::run(100, [] { rcu_barrier(); });
}

TEST(rcu_fork, child_does_not_wait_for_readers_of_the_parent) {
  helper_thread recorded, counted;
  recorded.call([] { return rcu_default_domain().lock(), 0; });
  counted.call([] {
    enlist();
    my_record().mode.store(static_cast<std::uint32_t>(participation::unlisting));
    return rcu_default_domain().lock(), 0;
  });
  in_a_child([] { rcu_synchronize(); });
  // The child does not wait for the leader of the parent's grace period either.
  helper_thread leader;
  leader.begin([] { return rcu_synchronize(), 1; });
  EXPECT_TRUE(leader.falls_asleep());
  in_a_child([] { rcu_synchronize(); });
  EXPECT_TRUE(leader.in_call());
  recorded.call([] { return rcu_default_domain().unlock(), 0; });
  EXPECT_TRUE(leader.falls_asleep());
  counted.call([] {
    rcu_default_domain().unlock();
    my_record().mode.store(static_cast<std::uint32_t>(participation::offline));
  });
  EXPECT_EQ(leader.end(), 1);
}

TEST(rcu_fork, child_keeps_its_own_section_open) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  rcu_reader section;
  in_a_child([] {
    helper_thread writer;
    writer.begin([] { return rcu_synchronize(), 1; });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(writer.in_call());
    rcu_default_domain().unlock();
    EXPECT_EQ(writer.end(), 1);
    rcu_default_domain().lock();
  });
}

TEST(rcu_fork, works_in_a_deleter) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  counter reclaimed;
  helper_thread reader;
  reader.call([] { return rcu_default_domain().lock(), 0; });
  for (int i = 0; i < 5; ++i) retire_counted(reclaimed);
  retire_with(rcu_default_domain(), [&] {
    in_a_child([&] {
      const int before = *reclaimed.operator->();
      EXPECT_EQ(before, 5);
      for (int i = 0; i < 5; ++i) retire_counted(reclaimed);
      rcu_synchronize();
      rcu_barrier();
      EXPECT_EQ(*reclaimed.operator->(), 15) << "five that came behind, five of its own";
    });
  });
  for (int i = 0; i < 5; ++i) retire_counted(reclaimed);
  reader.call([] { return rcu_default_domain().unlock(), 0; });
  rcu_barrier();
  EXPECT_EQ(*reclaimed.operator->(), 20);
}

char state_of(pid_t process) {
  char name[64];
  std::snprintf(name, sizeof name, "/proc/%d/stat", process);
  char text[256] = {};
  if (std::FILE* const file = std::fopen(name, "r")) {
    [[maybe_unused]] const auto got = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
  }
  const char* const name_end = std::strrchr(text, ')');
  return name_end != nullptr ? name_end[2] : '?';
}

// The child then consists of the reclaimer alone.
TEST(rcu_fork, in_a_deleter_that_returns_leaves_a_reclaimer_at_work) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  for (const bool goes_on : {false, true}) {
    counter child;
    counter reclaimed;
    retire_with(rcu_default_domain(), [&] {
      const pid_t id = test::settled_fork();
      if (id != 0) {
        *child.operator->() = id;
        return;
      }
      alarm(test::child_deadline);
      if (goes_on) {
        std::thread([&] {
          for (int i = 0; i < 10; ++i) retire_counted(reclaimed);
          rcu_barrier();
          *reclaimed.operator->() += 10;
          for (;;) pause();
        }).detach();
      }
    });
    rcu_barrier();
    const pid_t id = *child.operator->();
    if (goes_on) {
      EXPECT_TRUE(wait_until([&] { return *reclaimed.operator->() == 20; }));
    }
    int asleep_in_a_row = 0;
    EXPECT_TRUE(wait_until([&] {
      asleep_in_a_row = state_of(id) == 'S' ? asleep_in_a_row + 1 : 0;
      return asleep_in_a_row == 100;
    })) << "it spins";
    kill(id, SIGKILL);
    waitpid(id, nullptr, 0);
  }
}

// --- The end of the process ----------------------------------------------------------------------

class rcu_process_exit : public testing::Test {
 protected:
  // Runs it in a child that ends by exit(), and returns the time that takes.
  template <class Body>
  std::chrono::duration<double> end_after(Body body) {
    const auto start = steady_clock::now();
    std::fflush(nullptr);
    const pid_t id = test::settled_fork();
    if (id == 0) {
      alarm(test::child_deadline);
      body();
      std::exit(7);
    }
    int status = 0;
    EXPECT_EQ(waitpid(id, &status, 0), id);
    EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 7);
    return steady_clock::now() - start;
  }

  counter reclaimed;
};

TEST_F(rcu_process_exit, reclaims_what_was_retired_before) {
  end_after([&] {
    for (int i = 0; i < 1000; ++i) retire_counted(reclaimed);
    static separate_rcu_domain& forgotten = *new separate_rcu_domain;
    for (int i = 0; i < 10; ++i) retire_counted(reclaimed, forgotten);
  });
  EXPECT_EQ(*reclaimed.operator->(), 1010);
}

TEST_F(rcu_process_exit, reclaims_also_where_deleters_run_in_place) {
  end_after([&] {
    setenv("READMOST_RCU_THREAD", "0", 1);
    for (int i = 0; i < 10; ++i) retire_counted(reclaimed);
    static separate_rcu_domain& forgotten = *new separate_rcu_domain;
    readmost::rcu_reclaim_by(readmost::reclaiming::in_place, forgotten);
    for (int i = 0; i < 10; ++i) retire_counted(reclaimed, forgotten);
  });
  EXPECT_EQ(*reclaimed.operator->(), 20);
}

// One after the other: each deleter retires the next.
void retire_chain(counter& count, int left) {
  retire_with(rcu_default_domain(), [&count, left] {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    ++*count.operator->();
    if (left > 1) retire_chain(count, left - 1);
  });
}

#if !UNDER_THREAD_SANITIZER && !UNDER_ADDRESS_SANITIZER
TEST_F(rcu_process_exit, reclaims_also_where_the_system_refuses_threads) {
  end_after([&] {
    static const test::refused_threads refused;
    retire_chain(reclaimed, 10);
    separate_rcu_domain& forgotten = *new separate_rcu_domain;
    for (int i = 0; i < 10; ++i) retire_counted(reclaimed, forgotten);
  });
  EXPECT_EQ(*reclaimed.operator->(), 20);
}
#endif

TEST_F(rcu_process_exit, does_not_wait_long_for_a_reader) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  for (const char* thread : {"1", "0"}) {
    const auto took = end_after([&] {
      setenv("READMOST_RCU_THREAD", thread, 1);
      std::atomic<bool> inside{false};
      std::thread([&] {
        rcu_reader section;
        inside = true;
        for (;;) pause();
      }).detach();
      while (!inside) std::this_thread::yield();
      retire_counted(reclaimed);
    });
    EXPECT_LT(took, test::generous);
  }
  EXPECT_EQ(*reclaimed.operator->(), 0) << "a reader was inside";
}

TEST_F(rcu_process_exit, of_a_thread_that_is_inside_a_section_does_not_wait) {
  const auto took = end_after([&] {
    retire_counted(reclaimed);
    rcu_default_domain().lock();
  });
  EXPECT_LT(took, test::generous);
}

TEST_F(rcu_process_exit, reclaims_also_what_deleters_retire) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  for (const char* thread : {"1", "0"}) {
    *reclaimed.operator->() = 0;
    end_after([&] {
      setenv("READMOST_RCU_THREAD", thread, 1);
      retire_chain(reclaimed, 100);
    });
    EXPECT_EQ(*reclaimed.operator->(), 100);
  }
}

// The objects' deleters use a static object that is built after the first retirement, so what
// std::atexit() was given then would come too late.
void retire_for_a_later_static(shared_object<std::atomic<int>>& reclaimed,
                               shared_object<std::atomic<int>>& too_late) {
  retire_counted(reclaimed);
  static bool exists = false;
  static struct used_by_deleters {
    used_by_deleters() { exists = true; }
    ~used_by_deleters() { exists = false; }
  } object;
  for (int i = 0; i < 20'000; ++i) {
    retire_with(rcu_default_domain(), [&] {
      if (!exists) ++*too_late.operator->();
      ++*reclaimed.operator->();
    });
  }
}

TEST_F(rcu_process_exit, precedes_the_destructors_of_all_static_objects) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  shared_object<std::atomic<int>> too_late;
  end_after([&] { retire_for_a_later_static(reclaimed, too_late); });
  EXPECT_EQ(*too_late.operator->(), 0);
  EXPECT_EQ(*reclaimed.operator->(), 20'001);
}

// The main thread has never retired anything, nor opened a section.
TEST_F(rcu_process_exit, precedes_them_also_where_only_other_threads_have_retired) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  shared_object<std::atomic<int>> too_late;
  end_after([&] { std::thread([&] { retire_for_a_later_static(reclaimed, too_late); }).join(); });
  EXPECT_EQ(*too_late.operator->(), 0);
  EXPECT_EQ(*reclaimed.operator->(), 20'001);
}

TEST_F(rcu_process_exit, awaits_the_deleter_that_runs) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  end_after([&] {
    static std::atomic<bool> runs{false};
    retire_with(rcu_default_domain(), [&] {
      retire_with(rcu_default_domain(), [&] {
        runs = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        runs = false;
        ++*reclaimed.operator->();
      });
    });
    static const struct at_the_end {
      ~at_the_end() { EXPECT_FALSE(runs); }
    } last;
  });
  EXPECT_EQ(*reclaimed.operator->(), 1);
}

// Deleters take a lock under which they are retired, and a destructor waits for that thread.
TEST_F(rcu_process_exit, is_survived_by_threads_that_retire_under_their_locks) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  end_after([&] {
    static struct pool {
      ~pool() {
        // The library's own end is over by now.
        while (retired_at_the_end < 1000) std::this_thread::yield();
        stop = true;
        thread.join();
      }
      void work() {
        while (!stop) {
          const std::scoped_lock held(mutex);
          retire_with(rcu_default_domain(), [this] { const std::scoped_lock inner(mutex); });
          ++retired_at_the_end;
        }
      }
      std::mutex mutex;
      std::atomic<int> retired_at_the_end{0};
      std::atomic<bool> stop{false};
      std::thread thread{[this] { work(); }};
    } workers;
    rcu_barrier();
    workers.retired_at_the_end = 0;
    std::atexit([] { workers.retired_at_the_end = 0; });
    retire_counted(reclaimed);
  });
  EXPECT_EQ(*reclaimed.operator->(), 1);
}

// As the threads of a static pool may: there is always something left.
TEST_F(rcu_process_exit, does_not_wait_for_what_other_threads_go_on_retiring) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  using namespace std::chrono_literals;
  const auto took = end_after([&] {
    static std::atomic<int> waiting{0};
    static std::atomic<bool> begun{false};
    std::thread([] {
      for (;;) {
        while (waiting == 4) std::this_thread::yield();
        ++waiting;
        retire_with(rcu_default_domain(), [] {
          std::this_thread::sleep_for(1ms);
          --waiting;
        });
        begun = true;
      }
    }).detach();
    while (!begun) std::this_thread::yield();
    retire_counted(reclaimed);
  });
  EXPECT_LT(took, 8s) << "it waited until its patience ended, 10 s";
  EXPECT_EQ(*reclaimed.operator->(), 1);
}

// Each deleter retires the next in another domain.
TEST_F(rcu_process_exit, reclaims_also_what_deleters_retire_in_other_domains) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  end_after([&] {
    static separate_rcu_domain* const first = new separate_rcu_domain;
    static separate_rcu_domain* const second = new separate_rcu_domain;
    retire_with(*second, [&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      retire_with(*first, [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        retire_with(rcu_default_domain(), [&] { ++*reclaimed.operator->(); });
      });
    });
  });
  EXPECT_EQ(*reclaimed.operator->(), 1);
}

TEST_F(rcu_process_exit, may_be_called_by_a_deleter) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  end_after([&] {
    retire_with(rcu_default_domain(), [] { std::exit(7); });
    for (;;) pause();
  });
}

TEST_F(rcu_process_exit, does_not_wait_long_for_a_deleter) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  const auto took = end_after([&] {
    retire_with(rcu_default_domain(), [] {
      for (;;) pause();
    });
  });
  EXPECT_LT(took, test::generous);
}

TEST_F(rcu_process_exit, is_followed_by_destructors_that_may_use_it) {
  end_after([&] {
    static counter* count;
    count = &reclaimed;
    // Registered before the library's own function, and so called after it.
    std::atexit([] {
      retire_counted(*count);
      {
        rcu_reader section;
      }
      rcu_synchronize();
      rcu_barrier();
    });
    retire_counted(reclaimed);
  });
  EXPECT_EQ(*reclaimed.operator->(), 2);
}

// --- Without membarrier --------------------------------------------------------------------------

// Readers that use what a writer unlinks, reclaims and poisons.
int errors_under_load(rcu_domain& dom) {
  struct element : rcu_obj_base<element> {
    std::atomic<int> alive{1};
    ~element() { alive = 0; }
  };
  std::atomic<element*> current{new element};
  std::atomic<bool> stop{false};
  std::atomic<int> errors{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        std::scoped_lock section(dom);
        const element* const one = current.load(std::memory_order_acquire);
        for (int turn = 0; turn < 20; ++turn) {
          if (one->alive.load(std::memory_order_relaxed) != 1) ++errors;
        }
      }
    });
  }
  std::vector<std::unique_ptr<element>> unlinked;
  for (int i = 0; i < 2000; ++i) {
    std::unique_ptr<element> old(current.exchange(new element));
    if (i % 2 == 0) {
      old.release()->retire({}, dom);
    } else {
      rcu_synchronize(dom);
      old->alive = 0;
      unlinked.push_back(std::move(old));  // readable for who is still there
    }
  }
  stop = true;
  for (std::thread& one : readers) one.join();
  delete current.load();
  rcu_barrier(dom);
  return errors;
}

TEST(rcu_without_membarrier, readers_and_grace_periods_are_right) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  in_a_child([] {
    if (!test::forbid_calls({SYS_membarrier}, ENOSYS)) return;
    ASSERT_FALSE(platform::enable_heavy_fence());
    EXPECT_EQ(errors_under_load(rcu_default_domain()), 0);
    helper_thread reader, writer;
    reader.call([] { return rcu_default_domain().lock(), 0; });
    writer.begin([] { return rcu_synchronize(), 1; });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(writer.in_call());
    reader.call([] { return rcu_default_domain().unlock(), 0; });
    EXPECT_EQ(writer.end(), 1);
  });
}

TEST(rcu_without_membarrier, it_goes_on_where_that_stops_working) {
  SKIP_WHERE_CHILDREN_START_NO_THREADS();
  in_a_child([] {
    EXPECT_EQ(errors_under_load(rcu_default_domain()), 0);
    helper_thread reader;
    reader.call([] { return rcu_default_domain().lock(), 0; });
    // For this thread and those that it starts.
    if (!test::forbid_calls({SYS_membarrier}, ENOSYS)) return;
    {
      separate_rcu_domain dom;
      EXPECT_EQ(errors_under_load(dom), 0);
    }
    helper_thread late;
    late.begin([] { return rcu_synchronize(), 1; });
    EXPECT_TRUE(late.falls_asleep());
    EXPECT_TRUE(late.in_call());
    reader.call([] { return rcu_default_domain().unlock(), 0; });
    EXPECT_EQ(late.end(), 1);
  });
}

}  // namespace
