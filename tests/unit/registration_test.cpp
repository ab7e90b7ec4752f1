// SPDX-License-Identifier: Apache-2.0
// A thread's registration and exit, amid which another thread forks or a signal handler runs.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <readmost/detail/platform/bits.hpp>
#include <readmost/lock_domain.hpp>
#include <readmost/shared_mutex.hpp>
#include <thread>
#include <utility>

#include "statistics/statistics.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/sanitizers.hpp"
#include "support/single_step.hpp"
#include "support/sorts.hpp"
#include "threads/parts.hpp"

#if defined(__x86_64__)
#include <ucontext.h>
#endif

namespace {

using namespace readmost::detail;
using test::helper_thread;
using test::in_a_child;

bool is_taken(const chunk& c, std::uint32_t number) {
  return (c.used.load() >> number & 1) != 0;
}

// The tests set a bit themselves: they cannot fork between two given instructions of another
// thread.
TEST(registration, amid_a_fork_of_another_thread_leaves_a_child_that_goes_on) {
  const readmost::lock_domain own;
  chunk& c = chunk_of(*enlist(own.number()));
  constexpr std::uint32_t last = chunk::capacity - 1;
  ASSERT_EQ(c.records[last].in_chunk, nullptr) << "a record that no thread has ever used";
  c.used.fetch_or(bit(last));
  in_a_child([&] {
    EXPECT_FALSE(is_taken(c, last)) << "its thread is not in the child";
    EXPECT_TRUE(is_taken(c, number_of(my_record(own.number()))));
    helper_thread next;
    EXPECT_EQ(next.call([&] { return enlist(own.number()) != nullptr; }), 1);
  });
  c.used.fetch_and(~bit(last));
}

// --- Forks amid a thread's own registration and exit ---------------------------------------------

// Called in a thread that has taken a record and not made it its own yet, and in one that no longer
// has the record and has not given it back.
using hook = void (*)(thread_record&);
thread_local hook amid_registration = nullptr;
thread_local hook amid_exit = nullptr;

void call_once(hook& what, thread_record& record) {
  if (const hook call = std::exchange(what, nullptr)) call(record);
}

void call_hooks() {
  static part amid{.on_enlist = [](thread_record& me) { call_once(amid_registration, me); },
                   .on_departure = [](thread_record& me) { call_once(amid_exit, me); }};
  add_part(amid);
}

#if !UNDER_THREAD_SANITIZER  // which ends a child that starts a thread

bool is_child = false;
pid_t child = -1;

void fork_now(thread_record&) {
  child = test::settled_fork();
  is_child = child == 0;
  if (is_child) alarm(test::child_deadline);
}

void expect_success_of_child() {
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The record that another thread gets.
const thread_record* record_of_another() {
  const thread_record* record = nullptr;
  std::thread([&] { record = enlist(); }).join();
  return record;
}

TEST(registration, goes_on_in_the_child_of_a_fork_amid_it) {
  call_hooks();
  std::thread([] {
    amid_registration = fork_now;
    const thread_record* const mine = enlist();
    if (is_child) {
      const bool kept = mine == &my_record() && is_taken(chunk_of(*mine), number_of(*mine));
      _exit(kept && record_of_another() != mine ? 0 : 1);
    }
  }).join();
  expect_success_of_child();
}

TEST(registration, ends_in_the_child_of_a_fork_amid_the_exit) {
  call_hooks();
  std::thread([] {
    amid_exit = [](thread_record& lost) {
      fork_now(lost);
      // The calling thread would go on to give the record back, from under its next owner.
      if (is_child) _exit(record_of_another() != &lost ? 0 : 1);
    };
    enlist();
  }).join();
  expect_success_of_child();
}

#endif

// --- Signal handlers amid a thread's exit --------------------------------------------------------

// Locks of both domains, which a signal handler may use at any time.
struct two_locks {
  readmost::lock_domain own;
  rwlock in_own_domain{.domain = static_cast<std::uint8_t>(own.number())};
  rwlock in_common_domain;

  two_locks() {
    EXPECT_TRUE(test::earn_bias(in_own_domain));
    EXPECT_TRUE(test::earn_bias(in_common_domain));
  }
};
two_locks* locks_of_handler = nullptr;
std::atomic<std::uint64_t> handler_calls{0};
std::atomic<std::uint64_t> handler_failures{0};

// What a signal handler may do, in the middle of a thread's exit.
void use_locks_and_statistics() {
  for (rwlock* lock : {&locks_of_handler->in_own_domain, &locks_of_handler->in_common_domain}) {
    if (test::lock_shared(*lock) != test::acquired) ++handler_failures;
    if (!test::unlock_shared(*lock)) ++handler_failures;
    // Each write is a round, which the thread has not reported.
    lock->balance.store(20'000);
    if (test::lock(*lock) != test::acquired) ++handler_failures;
    test::unlock(*lock);
    report_if_asked();  // as every thread does that waits for a lock
  }
  if (collect_statistics().locks == 0) ++handler_failures;
  ++handler_calls;
}

// Others take part in the rounds of both domains.
class online_in_both {
 public:
  explicit online_in_both(two_locks& locks) {
    thread_.call([&] {
      test::read(locks.in_own_domain, 1);
      test::read(locks.in_common_domain, 1);
    });
  }

 private:
  helper_thread thread_;
};

TEST(thread_exit, leaves_locks_usable_where_the_thread_has_lost_its_record) {
  two_locks locks;
  locks_of_handler = &locks;
  const online_in_both other(locks);
  call_hooks();
  handler_calls = 0;
  handler_failures = 0;
  std::thread([&] {
    enlist();
    enlist(locks.own.number());
    amid_exit = [](thread_record&) { use_locks_and_statistics(); };
  }).join();
  EXPECT_EQ(handler_calls, 1U);
  EXPECT_EQ(handler_failures, 0U);
}

#if defined(__x86_64__) && CAN_STEP

constexpr long trap_flag = 1 << 8;
thread_local bool step_on = false;

void at_each_step(int, siginfo_t*, void* context) {
  use_locks_and_statistics();
  auto& flags = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL];
  flags = step_on ? flags | trap_flag : flags & ~trap_flag;
}

constexpr std::uintptr_t rounds_of_keys = PTHREAD_DESTRUCTOR_ITERATIONS;
pthread_key_t stepping;

// From the last round but one of keys, and thus through the library's part in the exit, until this
// key's turn in the last.
void step_through_exit(void* value) {
  const auto round = reinterpret_cast<std::uintptr_t>(value);
  if (round < rounds_of_keys) pthread_setspecific(stepping, reinterpret_cast<void*>(round + 1));
  if (round == rounds_of_keys - 1) {
    step_on = true;
    raise(SIGTRAP);
  }
  if (round == rounds_of_keys) step_on = false;
}

TEST(thread_exit, leaves_locks_usable_at_every_instruction) {
  two_locks locks;
  locks_of_handler = &locks;
  const online_in_both other(locks);
  enlist();  // the library's key before the test's
  ASSERT_EQ(pthread_key_create(&stepping, step_through_exit), 0);
  handler_calls = 0;
  handler_failures = 0;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_sigaction = at_each_step;
  action.sa_flags = SA_SIGINFO;
  ASSERT_EQ(sigaction(SIGTRAP, &action, &before), 0);
  const thread_record* record = nullptr;
  std::thread([&] {
    pthread_setspecific(stepping, reinterpret_cast<void*>(std::uintptr_t{1}));
    enlist(locks.own.number());
    record = enlist();
  }).join();
  sigaction(SIGTRAP, &before, nullptr);
  pthread_key_delete(stepping);
  EXPECT_FALSE(is_taken(chunk_of(*record), number_of(*record))) << "stepped past the exit";
  EXPECT_GT(handler_calls, 200U);
  EXPECT_EQ(handler_failures, 0U);
}

#endif

}  // namespace
