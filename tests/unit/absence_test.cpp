// SPDX-License-Identifier: Apache-2.0
// Threads that stay away from a busy lock: how long, and whether they sleep meanwhile.
#include "lock/absence.hpp"

#include <gtest/gtest.h>

#include "lock/company.hpp"
#include "lock/waiting.hpp"
#include "support/crowd.hpp"
#include "support/processes.hpp"
#include "support/surface.hpp"

namespace {

namespace absence = readmost::detail::absence;
namespace platform = readmost::detail::platform;
using readmost::detail::rwlock;

TEST(absence, is_the_longer_the_more_threads_are_away) {
  rwlock lock;
  EXPECT_EQ(absence::begin(lock), absence::shortest);
  const unsigned cpus = platform::usable_cpus();
  for (unsigned i = 1; i < cpus; ++i) absence::begin(lock);
  EXPECT_EQ(absence::begin(lock), 2 * absence::shortest);
  for (unsigned i = 0; i <= cpus; ++i) absence::end(lock);
  EXPECT_EQ(absence::begin(lock), absence::shortest) << "all are back";
  absence::end(lock);
}

TEST(absence, is_bounded) {
  rwlock lock;
  const unsigned many = 100 * platform::usable_cpus();
  for (unsigned i = 0; i < many; ++i) EXPECT_LE(absence::begin(lock), absence::longest);
  EXPECT_EQ(absence::begin(lock), absence::longest);
  for (unsigned i = 0; i <= many; ++i) absence::end(lock);
}

TEST(absence, of_threads_that_a_child_does_not_have_is_forgotten_there) {
  rwlock lock;
  const unsigned others = 2 * platform::usable_cpus();
  for (unsigned i = 0; i < others; ++i) absence::begin(lock);
  readmost::detail::watch_forks();
  test::in_a_child([&] {
    EXPECT_EQ(absence::begin(lock), absence::shortest);
    // Twice, as by a thread of which a handler forked while it was away.
    absence::end(lock);
    absence::end(lock);
    EXPECT_EQ(absence::begin(lock), absence::shortest);
  });
  for (unsigned i = 0; i < others; ++i) absence::end(lock);
}

// Lets the calling thread wait for the lock as one that has just waited for it. Whether it stayed
// away, and whether it slept.
struct stay {
  bool away = false;
  bool asleep = false;
};
stay wait_right_after_a_wait(rwlock& lock, std::uint64_t state = rwlock::writing) {
  readmost::detail::thread_record* const me = readmost::detail::enlist();
  stay seen;
  for (int wait = 0; wait < 1'000 && !seen.away; ++wait) {
    readmost::detail::spinner spin(me, lock, {.may_stay_away = true});
    seen.away = spin.has_stayed_away(state, [&] { seen.asleep = true; });
  }
  return seen;
}

TEST(absence, is_slept_through_where_threads_outnumber_the_cpus) {
  rwlock lock;
  const test::crowd others;
  const stay seen = wait_right_after_a_wait(lock);
  EXPECT_TRUE(seen.away);
  EXPECT_TRUE(seen.asleep);
  EXPECT_EQ(absence::begin(lock), absence::shortest) << "it is back";
  absence::end(lock);
}

TEST(absence, takes_the_thread_out_of_the_index) {
  using namespace readmost::detail;
  rwlock lock;
  const test::crowd others;
  thread_record& me = *enlist();
  come_online(me);
  ASSERT_TRUE(wait_right_after_a_wait(lock).asleep);
  EXPECT_EQ(entry_of(me).present.load() & bit(number_of(me)), 0U);
}

TEST(absence, of_one_among_many_is_of_no_use_where_company_does_not_hinder_it) {
  rwlock lock;
  const test::crowd others;
  readmost::detail::thread_record& me = *readmost::detail::enlist();
  me.waited_for = readmost::detail::address(lock);
  me.waited_until = platform::now();
  me.time_alone = 1'000'000;
  EXPECT_FALSE(wait_right_after_a_wait(lock).away);
}

TEST(absence, of_one_among_many_is_of_use_behind_writers_if_it_hardly_runs_between_its_waits) {
  rwlock lock;
  const test::crowd others;
  readmost::detail::thread_record& me = *readmost::detail::enlist();
  for (const bool behind_writers : {false, true}) {
    me.waited_for = readmost::detail::address(lock);
    me.waited_until = me.stretch_began = me.wait_ended = platform::now() - 50'000;
    me.time_alone = 1'000'000;  // company is of use
    me.wait_lasted = 10'000'000'000;
    bool asleep = false;
    readmost::detail::spinner spin(&me, lock,
                                   {.may_stay_away = true, .behind_writers = behind_writers});
    spin.has_stayed_away(rwlock::writing, [&] { asleep = true; });
    EXPECT_EQ(asleep, behind_writers);
  }
}

TEST(absence, of_one_among_many_is_of_use_long_after_a_wait_where_company_hinders_it) {
  rwlock lock;
  const test::crowd others;
  readmost::detail::thread_record& me = *readmost::detail::enlist();
  stay seen;
  // Again where this thread has lost its CPU between two lines here.
  for (int wait = 0; wait < 1'000 && !seen.away; ++wait) {
    readmost::detail::spinner spin(&me, lock, {.may_stay_away = true});
    me.waited_for = readmost::detail::address(lock);
    me.time_alone = 1;
    me.stretch_operations = 0;
    me.writes.store(8, platform::relaxed);
    me.waited_until = me.stretch_began = platform::now() - 50'000;
    seen.away = spin.has_stayed_away(rwlock::writing, [&] { seen.asleep = true; });
  }
  EXPECT_TRUE(seen.away);
  EXPECT_TRUE(seen.asleep);
}

// One that had stayed away would have left the index.
TEST(absence, is_too_long_for_a_writer_or_a_reader_with_a_deadline) {
  using namespace readmost::detail;
  const test::crowd others;
  thread_record& me = *enlist();
  rwlock lock;
  test::helper_thread holder;
  ASSERT_EQ(holder.call([&] { return test::lock(lock); }), test::acquired);
  for (const bool writes : {false, true}) {
    SCOPED_TRACE(writes);
    come_online(me);
    me.waited_for = address(lock);
    me.time_alone = 1;
    me.stretch_operations = 0;
    me.writes.store(8, platform::relaxed);
    me.waited_until = me.stretch_began = platform::now() - 50'000;
    const platform::deadline soon = platform::in(absence::shortest / 2);
    const rules how{.prefers = readmost::preference::reader, .until = &soon};
    EXPECT_EQ(writes ? test::lock(lock, how) : test::lock_shared(lock, how), test::timed_out);
    EXPECT_NE(entry_of(me).present.load() & bit(number_of(me)), 0U);
  }
  holder.call([&] { return test::unlock(lock), 0; });
}

TEST(absence, while_a_bias_may_come_back_is_for_crowds_alone) {
  rwlock lock;
  constexpr std::uint64_t state = rwlock::writing | rwlock::revoked;
  EXPECT_FALSE(wait_right_after_a_wait(lock, state).away);
  const test::crowd others;
  EXPECT_TRUE(wait_right_after_a_wait(lock, state).asleep);
}

TEST(absence, is_of_no_use_where_two_get_more_done_than_one) {
  rwlock lock;
  readmost::detail::company::known_time_alone(lock).store(UINT32_MAX, platform::relaxed);
  EXPECT_FALSE(wait_right_after_a_wait(lock).away);
  readmost::detail::company::known_time_alone(lock).store(0, platform::relaxed);
}

TEST(absence, is_of_use_where_one_gets_more_done_than_two) {
  rwlock lock;
  readmost::detail::thread_record& me = *readmost::detail::enlist();
  stay seen;
  // Again where this thread has lost its CPU between two lines here.
  for (int wait = 0; wait < 1'000 && !seen.away; ++wait) {
    readmost::detail::spinner spin(&me, lock, {.may_stay_away = true});
    me.waited_for = readmost::detail::address(lock);
    me.waited_until = platform::now();
    me.time_alone = 1;
    me.for_company = 0;
    me.operations_at_wait = me.stretch_operations =
        readmost::detail::company::operations_of(me, lock);
    me.stretch_began = platform::now() - 50'000;
    seen.away = spin.has_stayed_away(rwlock::writing, [&] { seen.asleep = true; });
  }
  EXPECT_TRUE(seen.away);
  EXPECT_FALSE(seen.asleep);
}

TEST(absence, is_spun_through_by_a_thread_that_is_alone) {
  rwlock lock;
  const stay seen = wait_right_after_a_wait(lock);
  EXPECT_TRUE(seen.away);
  EXPECT_FALSE(seen.asleep);
}

}  // namespace
