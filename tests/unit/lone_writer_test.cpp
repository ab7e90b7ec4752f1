// SPDX-License-Identifier: Apache-2.0
// Writes of a thread that is alone in the index of its domain (src/lock/lone_writer.hpp).
#include "lock/lone_writer.hpp"

#include <gtest/gtest.h>

#include <cstddef>

#include "lock/bias.hpp"
#include "lock/decision.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/single_step.hpp"
#include "support/stop.hpp"
#include "support/surface.hpp"
#include "threads/registry.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;

// Takes the records of all threads that are not online out of the index. Of the others the caller's
// alone is to be there.
void be_alone() {
  constexpr int more_than_an_idle_record_stays = 16;
  for (int i = 0; i < more_than_an_idle_record_stays; ++i) {
    reach_consensus(default_domain, enlist());
  }
  ASSERT_TRUE(is_alone_in_index(default_domain, my_record()));
}

class lone_writer : public testing::Test {
 protected:
  void SetUp() override {
    be_alone();
    earn_bias();
  }

  void earn_bias() {
    ASSERT_TRUE(test::earn_bias(lock));
    lock.balance.store(bias::highest / 2);
  }

  rwlock lock;
};

TEST_F(lone_writer, gives_the_bias_back_as_it_leaves) {
  const std::uint64_t revocations = my_record().revocations.load();
  const std::uint64_t writes = my_record().writes.load();
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(test::lock(lock), test::acquired);
    EXPECT_FALSE(test::is_biased(lock));
    EXPECT_NE(lock.state.load() & rwlock::writing, 0U);
    test::unlock(lock);
    ASSERT_TRUE(test::is_biased(lock));
  }
  EXPECT_EQ(my_record().revocations.load(), revocations + 10);
  EXPECT_EQ(my_record().writes.load(), writes + 10);
}

TEST_F(lone_writer, pays_less_than_one_that_has_to_look_for_readers) {
  bias::credit_passive_reads(lock, my_record(), false);
  const std::int32_t before = lock.balance.load();
  for (int i = 0; i < 10; ++i) test::write(lock);
  bias::debit_writes(lock, bias::asked::others);
  EXPECT_EQ(lock.balance.load(), before - 10 * bias::cost_of_revocation_alone) << "each write once";
}

TEST_F(lone_writer, keeps_no_bias_that_the_account_cannot_pay_for) {
  bias::credit_passive_reads(lock, my_record(), false);
  lock.balance.store(bias::cost_of_revocation_alone - 1);
  test::write(lock);
  EXPECT_FALSE(test::is_biased(lock));
}

TEST_F(lone_writer, earns_bias_by_few_reads_between_writes) {
  // Twice what a write costs where a read saves least. Earlier tests may have left more records
  // than the library looks at to see that no other thread exists.
  default_domain.round_cost.store(bias::least_cost);
  const int reads_between =
      2 * (has_one_thread(default_domain) ? bias::cost_of_revocation_alone
                                          : bias::cost_of_revocation(bias::least_cost));
  rwlock new_lock;
  for (int i = 0; i < 2'000 && !test::is_biased(new_lock); ++i) {
    test::write(new_lock);
    test::read(new_lock, reads_between);
  }
  EXPECT_TRUE(test::is_biased(new_lock));
}

TEST_F(lone_writer, earns_bias_as_soon_beside_threads_that_are_not_in_the_index) {
  const auto earns_it = [&] {
    rwlock new_lock;
    for (int i = 0; i < 2'000 && !test::is_biased(new_lock); ++i) {
      default_domain.round_cost.store(20'000);
      EXPECT_EQ(test::lock(new_lock), test::acquired);
      EXPECT_TRUE(try_unlock_exclusive_fast<true>(new_lock) ||
                  try_unlock_exclusive_fast<false>(new_lock));
      test::read(new_lock, 2 * bias::cost_of_revocation_alone);
    }
    return test::is_biased(new_lock);
  };
  helper_thread other;
  other.call([] { return come_online(*enlist()) ? 1 : 0; });
  EXPECT_FALSE(earns_it()) << "each write would have been a revocation";
  other.call([] { return leave_index(my_record()), 1; });
  EXPECT_TRUE(earns_it());
  default_domain.round_cost.store(bias::least_cost);
}

TEST_F(lone_writer, keeps_readers_and_writers_out) {
  ASSERT_EQ(test::lock(lock), test::acquired);
  helper_thread other;
  EXPECT_EQ(other.call([&] { return test::try_lock_shared(lock); }), test::busy);
  EXPECT_EQ(other.call([&] { return test::try_lock(lock); }), test::busy);
  other.begin([&] {
    const int result = test::lock_shared(lock);
    return result | (test::unlock_shared(lock) ? 0 : 1);
  });
  ASSERT_TRUE(other.falls_asleep());
  test::unlock(lock);
  EXPECT_EQ(other.end(), test::acquired) << "who waits is woken";
}

TEST_F(lone_writer, sees_its_own_hold) {
  ASSERT_EQ(test::lock_shared(lock), test::acquired);
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_TRUE(test::is_biased(lock)) << "an attempt leaves the bias";
  EXPECT_TRUE(test::unlock_shared(lock));

  rwlock other;
  ASSERT_TRUE(test::earn_bias(other));
  ASSERT_EQ(test::lock_shared(other), test::acquired);
  EXPECT_EQ(test::try_lock(lock), test::acquired) << "a hold of another lock is not in the way";
  test::unlock(lock);
  EXPECT_TRUE(test::unlock_shared(other));
}

TEST_F(lone_writer, is_not_alone_beside_a_reader) {
  helper_thread other;
  ASSERT_EQ(other.call([&] { return test::lock_shared(lock); }), test::acquired);
  EXPECT_FALSE(is_alone_in_index(default_domain, my_record()));
  EXPECT_FALSE(lock_exclusive_alone(lock, my_record(), {}));
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_TRUE(other.call([&] { return test::unlock_shared(lock) ? 1 : 0; }));
}

TEST_F(lone_writer, leaves_a_lock_without_bias_that_must_not_have_one) {
  ASSERT_EQ(test::lock(lock), test::acquired);
  lock.traits.fetch_or(rwlock::never_biased);
  test::unlock(lock);
  EXPECT_FALSE(test::is_biased(lock));
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
}

TEST_F(lone_writer, is_of_no_record_that_is_nobodys) {
  EXPECT_FALSE(lock_exclusive_alone(lock, unregistered, {}));
  EXPECT_TRUE(test::is_biased(lock));
}

#if CAN_STEP

// At each instruction of the write lock another thread comes that has never read anything.
TEST_F(lone_writer, meets_a_reader_that_comes_at_any_moment) {
  const test::machine_code program = test::code_around(&lock_exclusive_alone);
  bool came_in_time = true;
  for (std::size_t step = 0; came_in_time; step += test::stride) {
    SCOPED_TRACE(testing::Message() << "a reader comes at step " << step);
    be_alone();
    earn_bias();
    helper_thread other;
    int reader = test::busy;
    int writer = test::busy;
    came_in_time = test::interrupt_at(
        step, program, [&] { writer = test::try_lock(lock); },
        [&] { reader = other.call([&] { return test::try_lock_shared(lock); }); });
    EXPECT_FALSE(reader == test::acquired && writer == test::acquired) << "both are inside";
    if (came_in_time) {
      EXPECT_TRUE(reader == test::acquired || writer == test::acquired) << "nobody is inside";
    }
    if (writer == test::acquired) test::unlock(lock);
    if (reader == test::acquired) {
      EXPECT_EQ(test::try_lock(lock), test::busy) << "the reader is forgotten";
      EXPECT_TRUE(other.call([&] { return test::unlock_shared(lock) ? 1 : 0; }));
    }
    ASSERT_EQ(test::try_lock(lock), test::acquired) << "the lock has not been given back";
    test::unlock(lock);
    if (testing::Test::HasFailure()) return;
  }
}

// At each instruction of a write another thread begins to wait for the lock.
TEST_F(lone_writer, wakes_who_begins_to_wait_at_any_moment) {
  const test::machine_code program = test::code_around(&lock_exclusive_alone);
  bool came_in_time = true;
  for (std::size_t step = 0; came_in_time; step += test::stride) {
    SCOPED_TRACE(testing::Message() << "a writer comes at step " << step);
    be_alone();
    earn_bias();
    helper_thread other;
    came_in_time = test::interrupt_at(
        step, program, [&] { test::write(lock); },
        [&] {
          other.begin([&] { test::write(lock); });
          other.settles();
        });
    if (came_in_time) {
      ASSERT_EQ(other.end(), helper_thread::done) << "it sleeps on";
    }
    ASSERT_EQ(test::try_lock(lock), test::acquired);
    test::unlock(lock);
  }
}

// A thread stops at each instruction of its write lock while another one forks.
TEST_F(lone_writer, is_inside_or_not_in_a_child_that_is_forked_at_any_moment) {
  if (UNDER_ADDRESS_SANITIZER) GTEST_SKIP() << "whose allocator may be locked in the child";
  const test::machine_code program = test::code_around(&lock_exclusive_alone);
  bool was_stopped = true;
  for (std::size_t step = 0; was_stopped; step += test::stride) {
    SCOPED_TRACE(testing::Message() << "stopped at step " << step);
    earn_bias();
    go_offline();
    test::stop stop;
    helper_thread writer;
    writer.call(be_alone);
    writer.begin([&] {
      test::interrupt_at(step, program, [&] { test::lock(lock); }, [&] { stop.here(); });
    });
    ASSERT_TRUE(test::wait_until([&] { return stop.is_reached() || !writer.in_call(); }));
    was_stopped = stop.is_reached();
    const bool inside = (lock.state.load() & rwlock::writing) != 0;
    test::in_a_child([&] {
      EXPECT_EQ(test::try_lock_shared(lock), inside ? test::busy : test::acquired);
      if (!inside) {
        EXPECT_TRUE(test::unlock_shared(lock));
        EXPECT_EQ(test::try_lock(lock), test::acquired);
      }
    });
    stop.release();
    ASSERT_EQ(writer.end(), helper_thread::done);
    writer.call([&] { test::unlock(lock); });
    if (testing::Test::HasFailure()) return;
  }
}

#endif

// A signal handler that decides about another lock.
TEST_F(lone_writer, goes_on_deciding_after_a_handler_has_decided) {
  thread_record& me = my_record();
  rwlock other;
  {
    const decision pending(&me, lock);
    EXPECT_TRUE(is_deciding(&me, lock));
    {
      const decision of_handler(&me, other);
      EXPECT_TRUE(is_deciding(&me, other));
    }
    EXPECT_TRUE(is_deciding(&me, lock));
  }
  EXPECT_FALSE(is_deciding(&me, lock));
}

}  // namespace
