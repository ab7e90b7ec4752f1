// SPDX-License-Identifier: Apache-2.0
// RCU: the shape of C++26 <rcu>, read sections, grace periods. What is retired:
// rcu_retire_test.cpp.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <memory>
#include <mutex>
#include <optional>
#include <readmost/rcu.hpp>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/helper_thread.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using readmost::rcu_default_domain;
using readmost::rcu_domain;
using readmost::rcu_obj_base;
using readmost::rcu_poll;
using readmost::rcu_reader;
using readmost::rcu_start_poll;
using readmost::rcu_statistics_of;
using readmost::rcu_synchronize;
using readmost::rcu_synchronize_expedited;
using readmost::rcu_synchronize_since;
using readmost::separate_rcu_domain;
using test::helper_thread;
using test::wait_until;

// --- The shape -----------------------------------------------------------------------------------

static_assert(READMOST_RCU == 202306L);

struct incomplete;
struct object : rcu_obj_base<object> {};
struct deleter {
  void operator()(incomplete*) const {}
};

template <class Domain>
concept lockable_without_exceptions = requires(Domain& d) {
  { d.lock() } noexcept -> std::same_as<void>;
  { d.try_lock() } noexcept -> std::same_as<bool>;
  { d.unlock() } noexcept -> std::same_as<void>;
};
static_assert(lockable_without_exceptions<rcu_domain>);
static_assert(!std::is_default_constructible_v<rcu_domain>);
static_assert(!std::is_copy_constructible_v<rcu_domain>);
static_assert(!std::is_copy_assignable_v<rcu_domain>);
static_assert(!std::is_move_constructible_v<rcu_domain>);

template <class Base>
struct opened : Base {
  opened() = default;
  opened(const opened&) = default;
  opened(opened&&) = default;
  opened& operator=(const opened&) = default;
  opened& operator=(opened&&) = default;
};
static_assert(!std::is_default_constructible_v<rcu_obj_base<incomplete>>, "protected");
static_assert(!std::is_destructible_v<rcu_obj_base<incomplete>>, "protected");
static_assert(std::is_default_constructible_v<opened<rcu_obj_base<incomplete>>>);
static_assert(std::is_copy_constructible_v<opened<rcu_obj_base<incomplete>>>);
static_assert(std::is_move_constructible_v<opened<rcu_obj_base<incomplete>>>);
static_assert(std::is_copy_assignable_v<opened<rcu_obj_base<incomplete>>>);
static_assert(std::is_move_assignable_v<opened<rcu_obj_base<incomplete>>>);
static_assert(
    std::is_same_v<rcu_obj_base<object>, rcu_obj_base<object, std::default_delete<object>>>);
static_assert(
    std::is_same_v<decltype(&rcu_obj_base<incomplete, deleter>::retire),
                   void (rcu_obj_base<incomplete, deleter>::*)(deleter, rcu_domain&) noexcept>);
static_assert(std::is_same_v<decltype(&readmost::rcu_default_domain), rcu_domain& (*)() noexcept>);
static_assert(std::is_same_v<decltype(&readmost::rcu_synchronize), void (*)(rcu_domain&) noexcept>);
static_assert(std::is_same_v<decltype(&readmost::rcu_barrier), void (*)(rcu_domain&) noexcept>);
static_assert(std::is_same_v<decltype(&readmost::rcu_retire<object, std::default_delete<object>>),
                             void (*)(object*, std::default_delete<object>, rcu_domain&)>);
static_assert(!noexcept(readmost::rcu_retire(static_cast<object*>(nullptr))));
static_assert(noexcept(rcu_synchronize()) && noexcept(readmost::rcu_barrier()) &&
              noexcept(std::declval<object&>().retire()));

// --- A reader that another thread plays step by step ---------------------------------------------

class far_reader {
 public:
  explicit far_reader(rcu_domain& dom = rcu_default_domain()) : dom_(dom) {}
  ~far_reader() {
    if (inside_) leave();
  }

  void enter() {
    ASSERT_EQ(thread_.call([this] { return dom_.lock(), 0; }), 0);
    ++inside_;
  }
  void leave() {
    ASSERT_EQ(thread_.call([this] { return dom_.unlock(), 0; }), 0);
    --inside_;
  }
  helper_thread& thread() { return thread_; }

 private:
  rcu_domain& dom_;
  int inside_ = 0;
  helper_thread thread_;
};

unsigned number_of(const rcu_domain& dom) {
  return number_of(dom.core());
}
bool inside(const rcu_domain& dom = rcu_default_domain()) {
  return is_in_section(number_of(dom));
}

// The three ways to wait for a grace period.
class rcu_grace_period : public testing::TestWithParam<void (*)(rcu_domain&)> {};

void synchronize(rcu_domain& dom) {
  rcu_synchronize(dom);
}
void expedite(rcu_domain& dom) {
  rcu_synchronize_expedited(dom);
}
void synchronize_since_now(rcu_domain& dom) {
  rcu_synchronize_since(rcu_start_poll(dom), dom);
}
void poll(rcu_domain& dom) {
  const readmost::rcu_ticket ticket = rcu_start_poll(dom);
  // Sleeps between polls, so that the tests can detect the wait as they do for the other ways.
  while (!rcu_poll(ticket, dom)) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

INSTANTIATE_TEST_SUITE_P(ways, rcu_grace_period,
                         testing::Values(synchronize, expedite, synchronize_since_now, poll));

// --- Sections ------------------------------------------------------------------------------------

TEST(rcu_section, is_open_as_long_as_its_guard_lives) {
  EXPECT_FALSE(inside());
  {
    std::scoped_lock guard(rcu_default_domain());
    EXPECT_TRUE(inside());
  }
  EXPECT_FALSE(inside());
  {
    std::unique_lock guard(rcu_default_domain(), std::defer_lock);
    EXPECT_FALSE(inside());
    EXPECT_TRUE(guard.try_lock());
    EXPECT_TRUE(inside());
    guard.unlock();
    EXPECT_FALSE(inside());
  }
  {
    rcu_reader guard;
    EXPECT_TRUE(inside());
  }
  EXPECT_FALSE(inside());
}

TEST(rcu_section, of_several_domains_are_open_side_by_side) {
  separate_rcu_domain one, two;
  std::scoped_lock guard(one, two, rcu_default_domain());
  EXPECT_TRUE(inside(one) && inside(two) && inside());
  one.unlock();
  EXPECT_FALSE(inside(one));
  EXPECT_TRUE(inside(two) && inside());
  one.lock();
}

TEST(rcu_section, is_over_with_the_outermost_unlock) {
  constexpr int depth = 100'000;
  for (int i = 0; i < depth; ++i) rcu_default_domain().lock();
  for (int i = 0; i < depth; ++i) {
    EXPECT_TRUE(inside());
    rcu_default_domain().unlock();
  }
  EXPECT_FALSE(inside());
}

TEST(rcu_section, needs_no_registered_thread) {
  std::thread([] {
    EXPECT_EQ(&my_record(), &unregistered);
    rcu_reader section;
    EXPECT_TRUE(inside());
  }).join();
}

// --- Grace periods -------------------------------------------------------------------------------

TEST_P(rcu_grace_period, is_over_at_once_where_nobody_reads) {
  for (int i = 0; i < 1000; ++i) {
    const auto before = rcu_statistics_of().grace_periods;
    GetParam()(rcu_default_domain());
    EXPECT_GT(rcu_statistics_of().grace_periods, before);
  }
}

TEST_P(rcu_grace_period, waits_for_the_section_of_another_thread) {
  far_reader reader;
  helper_thread writer;
  for (int round = 0; round < 5; ++round) {
    reader.enter();
    writer.begin([] { return GetParam()(rcu_default_domain()), 1; });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(writer.in_call()) << "returned while the reader was inside";
    reader.leave();
    EXPECT_EQ(writer.end(), 1);
  }
}

TEST_P(rcu_grace_period, waits_for_the_outermost_section) {
  far_reader reader;
  helper_thread writer;
  reader.enter();
  reader.enter();
  writer.begin([] { return GetParam()(rcu_default_domain()), 1; });
  EXPECT_TRUE(writer.falls_asleep());
  reader.enter();
  reader.leave();
  reader.leave();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(writer.in_call()) << "returned while the outer section was open";
  reader.leave();
  EXPECT_EQ(writer.end(), 1);
}

TEST_P(rcu_grace_period, waits_for_every_reader) {
  std::array<far_reader, 5> readers;
  helper_thread writer;
  for (far_reader& one : readers) one.enter();
  writer.begin([] { return GetParam()(rcu_default_domain()), 1; });
  for (far_reader& one : readers) {
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(writer.in_call());
    one.leave();
  }
  EXPECT_EQ(writer.end(), 1);
}

TEST_P(rcu_grace_period, does_not_wait_for_a_later_section) {
  far_reader early, late;
  helper_thread writer;
  late.enter();
  early.enter();
  writer.begin([] { return GetParam()(rcu_default_domain()), 1; });
  EXPECT_TRUE(writer.falls_asleep());
  late.leave();
  late.enter();
  EXPECT_TRUE(writer.in_call());
  early.leave();
  EXPECT_EQ(writer.end(), 1);
  late.leave();
}

// Each of them begins before the last one has ended.
TEST_P(rcu_grace_period, is_not_kept_waiting_by_threads_that_come_and_go) {
  helper_thread writer;
  auto present = std::make_unique<far_reader>();
  present->enter();
  writer.begin([] { return GetParam()(rcu_default_domain()), 1; });
  EXPECT_TRUE(writer.falls_asleep());
  EXPECT_TRUE(wait_until([&] {
    auto next = std::make_unique<far_reader>();
    next->enter();
    present = std::move(next);
    return !writer.in_call();
  }));
  EXPECT_EQ(writer.end(), 1);
}

// One that is in progress began before the call.
TEST_P(rcu_grace_period, is_a_full_one_from_the_call_on) {
  far_reader early, late;
  helper_thread first, second;
  late.enter();
  early.enter();
  first.begin([] { return rcu_synchronize(), 1; });
  EXPECT_TRUE(first.falls_asleep());
  late.leave();
  late.enter();
  second.begin([] { return GetParam()(rcu_default_domain()), 1; });
  EXPECT_TRUE(second.falls_asleep());
  early.leave();
  EXPECT_EQ(first.end(), 1);
  EXPECT_TRUE(second.falls_asleep());
  EXPECT_TRUE(second.in_call()) << "returned while a section was open that it has to wait for";
  late.leave();
  EXPECT_EQ(second.end(), 1);
}

TEST_P(rcu_grace_period, is_shared_by_those_who_wait) {
  far_reader reader;
  std::array<helper_thread, 8> writers;
  reader.enter();
  const auto before = rcu_statistics_of().grace_periods;
  for (helper_thread& one : writers) {
    one.begin([] { return GetParam()(rcu_default_domain()), 1; });
    EXPECT_TRUE(one.falls_asleep());
  }
  reader.leave();
  for (helper_thread& one : writers) EXPECT_EQ(one.end(), 1);
  EXPECT_LE(rcu_statistics_of().grace_periods - before, 4U);
}

// A report from inside a section must say that the thread is inside.
TEST_P(rcu_grace_period, waits_for_a_section_in_which_a_lock_is_released) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  far_reader reader;
  helper_thread writer;
  reader.enter();
  writer.begin([] { return GetParam()(rcu_default_domain()), 1; });
  EXPECT_TRUE(writer.falls_asleep());
  EXPECT_EQ(reader.thread().call([&] {
    test::read(lock, 3);
    report(my_record());
    return 1;
  }),
            1);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(writer.in_call()) << "returned while the reader was inside";
  reader.leave();
  EXPECT_EQ(writer.end(), 1);
}

TEST_P(rcu_grace_period, does_not_wait_for_another_domain) {
  separate_rcu_domain own, foreign;
  far_reader in_default, in_foreign(foreign);
  in_default.enter();
  in_foreign.enter();
  GetParam()(own);
  separate_rcu_domain third;
  std::scoped_lock section(own);
  GetParam()(third);
}

TEST_P(rcu_grace_period, of_a_separate_domain_waits_for_its_readers) {
  separate_rcu_domain own;
  far_reader reader(own);
  helper_thread writer;
  reader.enter();
  writer.begin([&] { return GetParam()(own), 1; });
  EXPECT_TRUE(writer.falls_asleep());
  EXPECT_TRUE(writer.in_call());
  reader.leave();
  EXPECT_EQ(writer.end(), 1);
}

TEST_P(rcu_grace_period, waits_for_a_reader_that_rounds_have_long_found_idle) {
  far_reader reader;
  helper_thread writer;
  reader.enter();
  reader.leave();
  // Each round takes the record one step closer to leaving the index.
  for (int i = 0; i < 50; ++i) rcu_synchronize_expedited();
  reader.enter();
  writer.begin([] { return GetParam()(rcu_default_domain()), 1; });
  EXPECT_TRUE(writer.falls_asleep());
  EXPECT_TRUE(writer.in_call());
  reader.leave();
  EXPECT_EQ(writer.end(), 1);
}

// The thread's record is unusable at that moment, so the domain counts the section.
TEST_P(rcu_grace_period, waits_for_a_section_that_is_counted_in_the_domain) {
  far_reader reader;
  helper_thread writer;
  reader.enter();
  reader.leave();
  for (int round = 0; round < 4; ++round) {
    ASSERT_EQ(reader.thread().call([] {
      go_offline();
      my_record().mode.store(static_cast<std::uint32_t>(participation::unlisting));
      rcu_default_domain().lock();
      return 1;
    }),
              1);
    writer.begin([] { return GetParam()(rcu_default_domain()), 1; });
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(writer.in_call());
    ASSERT_EQ(reader.thread().call([] {
      rcu_default_domain().unlock();
      my_record().mode.store(static_cast<std::uint32_t>(participation::offline));
      return 1;
    }),
              1);
    EXPECT_EQ(writer.end(), 1);
    for (const auto& sections : rcu_default_domain().core().counted_sections)
      EXPECT_EQ(sections, 0U);
  }
}

TEST(rcu_statistics, name_the_thread_that_is_waited_for) {
  far_reader reader;
  helper_thread writer;
  int id = 0;
  reader.thread().call([&] { return id = gettid(); });
  EXPECT_EQ(rcu_statistics_of().waits_for, 0);
  const auto asleep_before = rcu_statistics_of().asleep;
  reader.enter();
  writer.begin([] { return rcu_synchronize(), 1; });
  EXPECT_TRUE(writer.falls_asleep());
  EXPECT_EQ(rcu_statistics_of().waits_for, id);
  EXPECT_NE(rcu_statistics_of().waits_since, 0U);
  EXPECT_EQ(rcu_statistics_of().asleep, asleep_before + 1);
  reader.leave();
  EXPECT_EQ(writer.end(), 1);
  EXPECT_EQ(rcu_statistics_of().waits_for, 0);
}

TEST(rcu_statistics, count_grace_periods_that_needed_a_membarrier) {
  far_reader reader;
  reader.enter();
  reader.leave();  // online, and in no hurry to report
  const auto before = rcu_statistics_of().by_membarrier;
  rcu_synchronize();
  EXPECT_EQ(rcu_statistics_of().by_membarrier, before + 1);
}

// --- Polling -------------------------------------------------------------------------------------

TEST(rcu_ticket, is_over_soon_where_nobody_reads) {
  const auto ticket = rcu_start_poll();
  EXPECT_TRUE(wait_until([&] { return rcu_poll(ticket); }));
  EXPECT_TRUE(rcu_poll(ticket)) << "and stays so";
}

TEST(rcu_ticket, is_over_with_the_section_that_was_open) {
  far_reader reader;
  reader.enter();
  const auto ticket = rcu_start_poll();
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(rcu_poll(ticket));
  reader.leave();
  EXPECT_TRUE(wait_until([&] { return rcu_poll(ticket); }));
}

TEST(rcu_ticket, of_a_section_is_over_when_that_is_closed) {
  std::unique_lock section(rcu_default_domain());
  const auto ticket = rcu_start_poll();
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(rcu_poll(ticket));
  section.unlock();
  EXPECT_TRUE(wait_until([&] { return rcu_poll(ticket); }));
}

TEST(rcu_ticket, that_is_taken_while_a_grace_period_is_in_progress_needs_another_one) {
  far_reader early, late;
  late.enter();
  early.enter();
  const auto first = rcu_start_poll();
  // Its thread reports in between.
  late.leave();
  late.enter();
  const auto second = rcu_start_poll();
  EXPECT_GT(second.grace_period, first.grace_period);
  early.leave();
  EXPECT_TRUE(wait_until([&] { return rcu_poll(first); }));
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(rcu_poll(second));
  late.leave();
  EXPECT_TRUE(wait_until([&] { return rcu_poll(second); }));
}

TEST(rcu_ticket, is_over_by_the_grace_periods_of_others) {
  const auto ticket = rcu_start_poll();
  rcu_synchronize();
  rcu_synchronize();
  EXPECT_TRUE(rcu_poll(ticket));
}

TEST(rcu_ticket, that_is_over_need_not_be_waited_for) {
  far_reader reader;
  const auto ticket = rcu_start_poll();
  rcu_synchronize_since(ticket);
  EXPECT_TRUE(rcu_poll(ticket));
  reader.enter();
  const auto before = rcu_statistics_of().grace_periods;
  rcu_synchronize_since(ticket);
  EXPECT_EQ(rcu_statistics_of().grace_periods, before);
}

// --- Domains of one's own ------------------------------------------------------------------------

TEST(separate_rcu_domain, is_refused_where_there_are_too_many) {
  std::vector<std::unique_ptr<separate_rcu_domain>> all;
  for (unsigned i = 1; i < max_domains; ++i) all.push_back(std::make_unique<separate_rcu_domain>());
  try {
    separate_rcu_domain another;
    ADD_FAILURE() << "it shares the readers of another domain";
  } catch (const std::system_error& error) {
    EXPECT_EQ(error.code(), std::errc::resource_unavailable_try_again);
  }
  all.pop_back();
  all.push_back(std::make_unique<separate_rcu_domain>());

  std::vector<const domain*> cores{&rcu_default_domain().core()};
  for (const auto& dom : all) cores.push_back(&dom->core());
  std::sort(cores.begin(), cores.end());
  EXPECT_EQ(std::unique(cores.begin(), cores.end()), cores.end());

  static std::atomic<int> reclaimed;
  reclaimed = 0;
  for (const auto& dom : all)
    readmost::rcu_retire(new int, [](int* p) { delete p, ++reclaimed; }, *dom);
  const auto count = static_cast<int>(all.size());
  all.clear();
  EXPECT_EQ(reclaimed, count) << "a domain's end reclaims what was retired in it";
}

// --- Signal handlers -----------------------------------------------------------------------------

// What a handler found wrong, and what it does, in the thread that it interrupts.
std::atomic<std::uint64_t> handled;
std::atomic<std::uint64_t> unprotected;

bool is_protected() {
  domain& d = rcu_default_domain().core();
  const thread_record& me = my_record();
  return (&me != &unregistered && is_noted(me.section)) ||
         d.counted_sections[0] + d.counted_sections[1] != 0;
}

void read_in_handler(int) {
  rcu_default_domain().lock();
  if (!inside() || !is_protected()) ++unprotected;
  rcu_default_domain().unlock();
  ++handled;
}

// On a busy machine a thread is interrupted rarely.
constexpr std::chrono::seconds longest_storm{1};

class handler_of_sections {
 public:
  handler_of_sections() {
    handled = 0;
    unprotected = 0;
    struct sigaction action = {};
    action.sa_handler = read_in_handler;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, &before_);
  }
  ~handler_of_sections() { sigaction(SIGUSR1, &before_, nullptr); }

  // Interrupts a thread that does `once` over and over.
  template <class Once>
  void interrupt(std::uint64_t times, Once once) {
    const auto longest = std::chrono::steady_clock::now() + longest_storm;
    std::atomic<bool> stop{false};
    std::thread victim([&] {
      while (!stop) once();
    });
    while (handled < times && std::chrono::steady_clock::now() < longest) {
      pthread_kill(victim.native_handle(), SIGUSR1);
      for (int i = 0; i < 200; ++i) platform::relax();
    }
    stop = true;
    victim.join();
  }

 private:
  struct sigaction before_;
};

#if defined(READMOST_THREAD_SANITIZER)
constexpr std::uint64_t interruptions = 200;
#else
constexpr std::uint64_t interruptions = 20'000;
#endif

TEST(rcu_section, in_signal_handlers_leaves_the_interrupted_one_as_it_was) {
  handler_of_sections handler;
  std::atomic<int> wrong{0};
  handler.interrupt(interruptions, [&] {
    for (int i = 0; i < 100; ++i) {
      if (inside()) ++wrong;
      rcu_reader section;
      if (my_record().section != 1) ++wrong;
      rcu_reader nested;
      if (my_record().section != 2) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(unprotected, 0U);
}

TEST(rcu_section, in_signal_handlers_is_seen_by_grace_periods_while_the_thread_comes_and_goes) {
  handler_of_sections handler;
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    while (!stop) rcu_synchronize_expedited();
  });
  handler.interrupt(interruptions, [&] {
    {
      rcu_reader section;
    }
    go_offline();
  });
  stop = true;
  writer.join();
  EXPECT_EQ(unprotected, 0U);
}

// As long as a round takes its record out of the index, which is for ever here.
TEST(rcu_section, in_signal_handlers_is_counted_right_where_the_record_does_not_serve) {
  handler_of_sections handler;
  handler.interrupt(interruptions, [&] {
    enlist();
    go_offline();
    thread_record& me = my_record();
    me.mode.store(static_cast<std::uint32_t>(participation::unlisting));
    for (int i = 0; i < 100; ++i) {
      rcu_reader section;
    }
    me.mode.store(static_cast<std::uint32_t>(participation::offline));
  });
  EXPECT_EQ(unprotected, 0U);
  for (const auto& sections : rcu_default_domain().core().counted_sections)
    EXPECT_EQ(sections, 0U) << "grace periods would wait for ever";
}

// Each thread is interrupted while it makes its record, and before and after.
TEST(rcu_section, in_signal_handlers_is_counted_right_in_threads_without_a_record) {
  handler_of_sections handler;
  const auto longest = std::chrono::steady_clock::now() + longest_storm;
  for (std::uint64_t round = 1; round <= interruptions / 20; ++round) {
    if (std::chrono::steady_clock::now() > longest) break;
    std::atomic<bool> stop{false};
    std::thread victim([&] {
      {
        rcu_reader section;
      }
      while (!stop) {
        enlist();
      }
    });
    while (handled < round) pthread_kill(victim.native_handle(), SIGUSR1);
    stop = true;
    victim.join();
  }
  EXPECT_EQ(unprotected, 0U);
  for (const auto& sections : rcu_default_domain().core().counted_sections)
    EXPECT_EQ(sections, 0U) << "grace periods would wait for ever";
}

}  // namespace
