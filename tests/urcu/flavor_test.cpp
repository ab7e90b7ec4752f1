// SPDX-License-Identifier: Apache-2.0
// Checks the flavor as liburcu's code sees it: the layout of its structures, each member of the
// flavor, and that it shares the process's readers with the rest of the library.
#include <gtest/gtest.h>
#include <readmost/urcu_flavor.h>
#include <readmost_rcu.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <readmost/detail/threads/domain.hpp>
#include <string>
#include <thread>
#include <vector>

#include "c_api/urcu_flavor.hpp"
#include "inline_sections.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"

namespace {

using readmost::detail::urcu::flavor;
using test::helper_thread;
using test::in_a_child;

// Compares with the installed headers, whichever version they have.
#define EXPECT_SAME_PLACE(member) \
  static_assert(offsetof(rcu_flavor_struct, member) == offsetof(flavor, member))
EXPECT_SAME_PLACE(read_lock);
EXPECT_SAME_PLACE(read_unlock);
EXPECT_SAME_PLACE(read_ongoing);
EXPECT_SAME_PLACE(read_quiescent_state);
EXPECT_SAME_PLACE(update_call_rcu);
EXPECT_SAME_PLACE(update_synchronize_rcu);
EXPECT_SAME_PLACE(update_defer_rcu);
EXPECT_SAME_PLACE(thread_offline);
EXPECT_SAME_PLACE(thread_online);
EXPECT_SAME_PLACE(register_thread);
EXPECT_SAME_PLACE(unregister_thread);
EXPECT_SAME_PLACE(barrier);
EXPECT_SAME_PLACE(register_rculfhash_atfork);
EXPECT_SAME_PLACE(unregister_rculfhash_atfork);
static_assert(sizeof(flavor) == 16 * sizeof(void*));
static_assert(sizeof(rcu_flavor_struct) == 14 * sizeof(void*) ||
              sizeof(rcu_flavor_struct) == sizeof(flavor));

static_assert(sizeof(rcu_head) == sizeof(readmost::detail::urcu::head));
static_assert(offsetof(rcu_head, next) == offsetof(readmost::detail::urcu::head, next));
static_assert(offsetof(rcu_head, func) == offsetof(readmost::detail::urcu::head, func));

static_assert(sizeof(urcu_atfork) == sizeof(readmost::detail::urcu::atfork));
static_assert(offsetof(urcu_atfork, priv) == offsetof(readmost::detail::urcu::atfork, priv));
static_assert(sizeof(urcu_gp_poll_state) == sizeof(readmost::detail::urcu::poll_state));

// The same object, declared with the members of liburcu 0.14, whichever version is installed.
extern "C" const flavor whole_flavor asm("urcu_readmost_flavor");

// A read-side section in another thread, opened and closed through the flavor's members.
class section_elsewhere {
 public:
  section_elsewhere() {
    thread_.call([] {
      urcu_readmost_flavor.register_thread();
      urcu_readmost_flavor.read_lock();
    });
  }
  section_elsewhere(const section_elsewhere&) = delete;
  section_elsewhere& operator=(const section_elsewhere&) = delete;
  ~section_elsewhere() {
    thread_.call([] {
      urcu_readmost_flavor.read_unlock();
      urcu_readmost_flavor.unregister_thread();
    });
  }

 private:
  helper_thread thread_;
};

std::atomic<int> called;

// Filled with a pattern, since a head need not be initialised.
rcu_head* new_head() {
  void* const memory = std::malloc(sizeof(rcu_head));
  std::memset(memory, 0xAA, sizeof(rcu_head));
  return static_cast<rcu_head*>(memory);
}

constexpr int polls = 1000;

}  // namespace

void count_call(rcu_head* head) {
  std::free(head);
  ++called;
}

namespace {

TEST(flavor, read_members_open_and_close_sections) {
  const rcu_flavor_struct& f = urcu_readmost_flavor;
  EXPECT_EQ(f.read_ongoing(), 0);
  f.read_lock();
  f.read_lock();
  f.read_unlock();
  EXPECT_NE(f.read_ongoing(), 0);
  f.read_quiescent_state();
  EXPECT_NE(f.read_ongoing(), 0) << "it is no end of a section";
  f.read_unlock();
  EXPECT_EQ(f.read_ongoing(), 0);
  f.read_quiescent_state();
}

TEST(flavor, thread_members_tell_whether_the_thread_is_online) {
  const auto is_online = [] {
    return readmost::detail::participation_of(readmost::detail::my_record().mode) ==
           readmost::detail::participation::online;
  };
  helper_thread thread;
  thread.call([&] {
    urcu_readmost_flavor.register_thread();
    EXPECT_NE(&readmost::detail::my_record(), &readmost::detail::unregistered);
    urcu_readmost_flavor.thread_online();
    EXPECT_TRUE(is_online());
    urcu_readmost_flavor.thread_offline();
    EXPECT_FALSE(is_online());
    urcu_readmost_flavor.read_lock();
    EXPECT_TRUE(is_online()) << "whatever was said before";
    urcu_readmost_flavor.read_unlock();
    urcu_readmost_flavor.unregister_thread();
    EXPECT_FALSE(is_online());
  });
}

TEST(flavor, a_grace_period_waits_for_the_readers_of_other_threads) {
  urcu_gp_poll_state state{};
  helper_thread writer;
  std::atomic<bool> done{false};
  {
    const section_elsewhere reader;
    state = urcu_readmost_start_poll_synchronize_rcu();
    writer.begin([&] {
      urcu_readmost_flavor.update_synchronize_rcu();
      done = true;
    });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_FALSE(done);
    for (int i = 0; i < polls; ++i) EXPECT_FALSE(urcu_readmost_poll_state_synchronize_rcu(state));
  }
  EXPECT_EQ(writer.end(), 0);
  EXPECT_TRUE(done);
  EXPECT_TRUE(test::wait_until([&] { return urcu_readmost_poll_state_synchronize_rcu(state); }));
}

TEST(flavor, the_last_members_are_those_of_current_versions) {
  readmost::detail::urcu::poll_state state{};
  {
    const section_elsewhere reader;
    state = whole_flavor.update_start_poll_synchronize_rcu();
    for (int i = 0; i < polls; ++i)
      EXPECT_FALSE(whole_flavor.update_poll_state_synchronize_rcu(state));
  }
  EXPECT_TRUE(
      test::wait_until([&] { return whole_flavor.update_poll_state_synchronize_rcu(state); }));
}

TEST(flavor, callbacks_wait_for_the_readers_and_the_barrier_for_callbacks) {
  called = 0;
  static std::atomic<int> deferred;
  deferred = 0;
  {
    const section_elsewhere reader;
    for (int i = 0; i < 100; ++i) {
      urcu_readmost_flavor.update_call_rcu(new_head(), count_call);
      urcu_readmost_flavor.update_defer_rcu(
          [](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &deferred);
    }
    const readmost_rcu_ticket_t ticket = readmost_rcu_start_poll(nullptr);
    for (int i = 0; i < polls; ++i) EXPECT_EQ(readmost_rcu_poll(nullptr, ticket), 0);
    EXPECT_EQ(called, 0);
    EXPECT_EQ(deferred, 0);
  }
  urcu_readmost_flavor.barrier();
  EXPECT_EQ(called, 100);
  EXPECT_EQ(deferred, 100);
}

TEST(flavor, functions_at_any_address_are_called_as_they_are) {
  // With -Os, functions are not aligned.
  called = 0;
  urcu_readmost_call_rcu(new_head(), unaligned_callback());
  urcu_readmost_barrier();
  EXPECT_EQ(called, 1);
}

TEST(flavor, atfork_members_keep_the_hook_while_anybody_uses_it) {
  static std::string told;
  urcu_atfork hook{[](void*) { told += 'b'; }, [](void*) { told += 'p'; },
                   [](void* priv) { told += *static_cast<const char*>(priv); },
                   const_cast<char*>("c")};
  const auto fork_by_turns = [](void (*after)()) {
    told.clear();
    urcu_readmost_call_rcu_before_fork();
    after();
    return told;
  };
  urcu_readmost_flavor.register_rculfhash_atfork(&hook);
  urcu_readmost_flavor.register_rculfhash_atfork(&hook);
  EXPECT_EQ(fork_by_turns(urcu_readmost_call_rcu_after_fork_parent), "bp");
  urcu_readmost_flavor.unregister_rculfhash_atfork(&hook);
  EXPECT_EQ(fork_by_turns(urcu_readmost_call_rcu_after_fork_child), "bc");
  urcu_readmost_flavor.unregister_rculfhash_atfork(&hook);
  EXPECT_EQ(fork_by_turns(urcu_readmost_call_rcu_after_fork_parent), "");
}

TEST(flavor, callbacks_that_waited_at_a_fork_are_called_in_both_processes) {
#if defined(READMOST_THREAD_SANITIZER)
  GTEST_SKIP() << "ThreadSanitizer lets no thread start in the child";
#endif
  called = 0;
  auto reader = std::make_unique<section_elsewhere>();
  for (int i = 0; i < 100; ++i) urcu_readmost_call_rcu(new_head(), count_call);
  EXPECT_EQ(called, 0);
  in_a_child([] {
    // The reader does not exist in the child.
    EXPECT_EQ(called, 0);
    urcu_readmost_barrier();
    EXPECT_EQ(called, 100);
    urcu_readmost_call_rcu(new_head(), count_call);
    urcu_readmost_synchronize_rcu();
    urcu_readmost_barrier();
    EXPECT_EQ(called, 101);
  });
  EXPECT_EQ(called, 0);
  reader.reset();
  urcu_readmost_barrier();
  EXPECT_EQ(called, 100);
}

TEST(flavor, a_section_of_the_forking_thread_goes_on_in_the_child) {
#if defined(READMOST_THREAD_SANITIZER)
  GTEST_SKIP() << "ThreadSanitizer lets no thread start in the child";
#endif
  called = 0;
  urcu_readmost_read_lock();
  urcu_readmost_call_rcu(new_head(), count_call);
  in_a_child([] {
    const urcu_gp_poll_state state = urcu_readmost_start_poll_synchronize_rcu();
    for (int i = 0; i < polls; ++i) EXPECT_FALSE(urcu_readmost_poll_state_synchronize_rcu(state));
    EXPECT_EQ(called, 0);
    urcu_readmost_read_unlock();
    urcu_readmost_barrier();
    EXPECT_EQ(called, 1);
  });
  urcu_readmost_read_unlock();
  urcu_readmost_barrier();
  EXPECT_EQ(called, 1);
}

TEST(flavor, the_reclaiming_thread_is_told_but_in_a_section) {
  static pthread_t caller;
  urcu_readmost_call_rcu(new_head(), [](rcu_head* head) {
    caller = pthread_self();
    std::free(head);
  });
  urcu_readmost_barrier();
  const auto told = [] {
    return urcu_readmost_get_call_rcu_thread(urcu_readmost_get_default_call_rcu_data());
  };
  EXPECT_TRUE(pthread_equal(told(), caller));
  EXPECT_FALSE(pthread_equal(caller, pthread_self()));
  urcu_readmost_read_lock();
  EXPECT_EQ(told(), pthread_t{});
  urcu_readmost_read_unlock();
}

// --- Workers of a program's own
// --------------------------------------------------------------------

// The calling thread's, while in scope.
class own_worker {
 public:
  own_worker() { urcu_readmost_set_thread_call_rcu_data(worker_); }
  own_worker(const own_worker&) = delete;
  own_worker& operator=(const own_worker&) = delete;
  ~own_worker() {
    urcu_readmost_set_thread_call_rcu_data(nullptr);
    urcu_readmost_call_rcu_data_free(worker_);
  }
  call_rcu_data* worker() const { return worker_; }

 private:
  call_rcu_data* const worker_ = urcu_readmost_create_call_rcu_data(0, -1);
};

void queue_calls(int calls) {
  for (int i = 0; i < calls; ++i) urcu_readmost_call_rcu(new_head(), count_call);
}

TEST(flavor, a_barrier_in_a_worker_waits_for_all_but_its_caller) {
  called = 0;
  static int at_end = -1;
  {
    const own_worker own;
    {
      const section_elsewhere reader;
      urcu_readmost_call_rcu(new_head(), [](rcu_head* head) {
        queue_calls(10);
        urcu_readmost_barrier();
        urcu_readmost_barrier();
        at_end = called;
        std::free(head);
      });
      queue_calls(10);
    }
    urcu_readmost_barrier();
    EXPECT_EQ(at_end, 20);
    queue_calls(10);
    urcu_readmost_barrier();
    EXPECT_EQ(called, 30) << "the worker goes on";
  }
}

TEST(flavor, a_worker_serves_several_threads_and_sleeps_between) {
  constexpr int threads = 3;
  constexpr int rounds = 200;
  called = 0;
  const own_worker own;
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      urcu_readmost_set_thread_call_rcu_data(own.worker());
      for (int round = 0; round < rounds; ++round) {
        queue_calls(1 + round % 3);
        if (round % 16 == 0) urcu_readmost_barrier();
      }
    });
  }
  for (std::thread& one : all) one.join();
  urcu_readmost_barrier();
  EXPECT_EQ(called, threads * (rounds + rounds / 3 * 3 + 1));
}

TEST(flavor, a_worker_goes_on_in_the_child_of_a_fork_that_nobody_announced) {
#if defined(READMOST_THREAD_SANITIZER)
  GTEST_SKIP() << "ThreadSanitizer lets no thread start in the child";
#endif
  called = 0;
  const own_worker own;
  auto reader = std::make_unique<section_elsewhere>();
  queue_calls(100);
  // A barrier of another thread has its mark in the queue, on a stack that the child may use.
  helper_thread waiting;
  waiting.begin([] { urcu_readmost_barrier(); });
  EXPECT_TRUE(waiting.falls_asleep());
  in_a_child([] {
    EXPECT_EQ(called, 0);
    urcu_readmost_barrier();
    EXPECT_EQ(called, 100);
    queue_calls(1);
    urcu_readmost_barrier();
    EXPECT_EQ(called, 101);
  });
  EXPECT_EQ(called, 0);
  reader.reset();
  EXPECT_EQ(waiting.end(), 0);
  EXPECT_EQ(called, 100);
}

TEST(flavor, is_one_with_the_domain_of_the_process) {
  urcu_readmost_read_lock();
  EXPECT_EQ(readmost_rcu_read_ongoing(nullptr), 1);
  readmost_rcu_read_unlock(nullptr);
  EXPECT_EQ(urcu_readmost_read_ongoing(), 0);
}

TEST(flavor, has_its_sections_inline_in_cxx20) {
  inline_lock();
  EXPECT_NE(urcu_readmost_read_ongoing(), 0);
  urcu_readmost_read_lock();
  inline_unlock();
  EXPECT_NE(urcu_readmost_read_ongoing(), 0);
  urcu_readmost_read_unlock();
  EXPECT_EQ(urcu_readmost_read_ongoing(), 0);
}

}  // namespace
