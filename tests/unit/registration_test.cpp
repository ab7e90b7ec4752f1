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

}  // namespace
