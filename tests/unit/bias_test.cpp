// SPDX-License-Identifier: Apache-2.0
// When a lock is biased: the account in src/lock/bias.hpp, and what the lock makes of it.
#include "lock/bias.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <memory>

#include "support/crowd.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/sorts.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;

// Excludes this thread's earlier reads from the count.
void forget_uncredited_reads(rwlock& lock) {
  bias::credit_passive_reads(lock, my_record(), false);
  lock.balance.store(0);
}

// As a reader does once in many reads.
void settle(rwlock& lock, rules how = {}) {
  ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
  update_account(lock, how);
  EXPECT_TRUE(test::unlock_shared(lock));
}

// A writer that does not take the fast path decides about the bias as it leaves.
void write_and_decide(rwlock& lock, rules how = {}) {
  ASSERT_EQ(test::lock(lock, how), test::acquired);
  unlock_exclusive_slow(lock, how);
}

TEST(bias, is_not_given_to_a_new_lock) {
  rwlock lock;
  EXPECT_FALSE(test::is_biased(lock));
  test::read(lock, 1);
  EXPECT_FALSE(test::is_biased(lock));
}

TEST(bias, is_earned_by_reads) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  EXPECT_GE(lock.balance.load(), bias::enough_for_bias);
  const std::uint64_t before = test::passive_reads_of_this_thread();
  test::read(lock, 10);
  EXPECT_EQ(test::passive_reads_of_this_thread(), before + 10);
}

TEST(bias, takes_many_reads_to_earn) {
  rwlock lock;
  const int too_few = bias::enough_for_bias / bias::saved_among_others / 2;
  test::read(lock, too_few);
  EXPECT_FALSE(test::is_biased(lock));
}

TEST(bias, is_lost_by_writes_and_earned_again_by_reads) {
  rwlock lock;
  helper_thread other;  // makes revocations cost something
  ASSERT_TRUE(test::earn_bias(lock));
  for (int i = 0; i < 10'000 && test::is_biased(lock); ++i) {
    other.call([&] { test::read(lock, 1); });
    test::write(lock);
  }
  EXPECT_FALSE(test::is_biased(lock));
  EXPECT_TRUE(test::earn_bias(lock));
}

TEST(bias, survives_a_write_that_the_account_can_pay_for) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  lock.balance.store(bias::highest);
  ASSERT_EQ(test::lock(lock), test::acquired);
  EXPECT_FALSE(test::is_biased(lock));
  EXPECT_NE(lock.state.load() & rwlock::revoked, 0U);
  lock.balance.store(0);
  test::unlock(lock);
  EXPECT_TRUE(test::is_biased(lock));
  EXPECT_EQ(lock.state.load() & rwlock::revoked, 0U);
}

// The first one cannot give the bias back, because the other waits.
TEST(bias, survives_writers_that_follow_one_another) {
  for (const readmost::preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    helper_thread other;
    for (const bool can_pay : {true, false}) {
      ASSERT_TRUE(test::earn_bias(lock, how));
      ASSERT_EQ(test::lock(lock, how), test::acquired);
      other.begin([&] { return test::lock(lock, how); });
      ASSERT_TRUE(other.falls_asleep());
      test::unlock(lock, how);
      ASSERT_EQ(other.end(), test::acquired);
      EXPECT_FALSE(test::is_biased(lock));
      lock.balance.store(can_pay ? 0 : -1);
      const bool have_cpus = test::threads_have_cpus();
      other.call([&] { test::unlock(lock, how); });
      EXPECT_EQ(test::is_biased(lock),
                can_pay && have_cpus && prefers != readmost::preference::reader);
    }
  }
}

// With a bias, only the first of them would revoke it.
TEST(bias, pays_for_one_of_the_writes_that_follow_one_another) {
  for (const readmost::preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    test::write(lock, how);
    helper_thread other;
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    other.begin([&] { return test::lock(lock, how); });
    ASSERT_TRUE(other.falls_asleep());
    lock.accounted_exits.store(lock.writer_exits.load());
    lock.balance.store(1'000);
    test::unlock(lock, how);
    ASSERT_EQ(other.end(), test::acquired);
    if (prefers != readmost::preference::reader) {
      EXPECT_EQ(lock.balance.load(), 1'000);
    }
    other.call([&] { test::unlock(lock, how); });
    EXPECT_LT(lock.balance.load(), 1'000);
  }
}

// The writer took the bias away before it found a reader inside.
TEST(bias, survives_a_write_that_had_to_wait_for_a_reader_if_threads_have_cpus) {
  for (const readmost::preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    helper_thread writer;
    ASSERT_TRUE(test::earn_bias(lock, how));
    for (const bool can_pay : {true, false}) {
      ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
      writer.begin([&] { return test::lock(lock, how); });
      ASSERT_TRUE(writer.falls_asleep());
      EXPECT_FALSE(test::is_biased(lock));
      EXPECT_TRUE(test::unlock_shared(lock));
      ASSERT_EQ(writer.end(), test::acquired);
      lock.balance.store(can_pay ? bias::highest : -1);
      const bool have_cpus = test::threads_have_cpus();
      writer.call([&] { test::unlock(lock, how); });
      EXPECT_EQ(test::is_biased(lock), can_pay && have_cpus);
    }
  }
}

TEST(bias, ends_with_a_write_that_the_account_cannot_pay_for) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  ASSERT_EQ(test::lock(lock), test::acquired);
  lock.balance.store(-1);
  test::unlock(lock);
  EXPECT_FALSE(test::is_biased(lock));
}

TEST(bias, charges_each_revocation_to_the_account) {
  rwlock lock;
  helper_thread other;
  ASSERT_TRUE(test::earn_bias(lock));
  ASSERT_EQ(other.call([&] {
    test::read(lock, 1);
    return static_cast<int>(participation_of(my_record().mode.load()));
  }),
            static_cast<int>(participation::online));
  forget_uncredited_reads(lock);
  lock.balance.store(bias::enough_for_bias);
  test::lock(lock);  // the other thread is silent, so this takes a membarrier
  EXPECT_LT(lock.balance.load(), bias::enough_for_bias);
  test::unlock(lock);
}

TEST(bias, is_kept_by_an_attempt_to_write_that_met_a_reader_if_it_is_worth_it) {
  rwlock lock;
  helper_thread reader;
  ASSERT_TRUE(test::earn_bias(lock));
  ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
  lock.balance.store(bias::highest);
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_TRUE(test::is_biased(lock));
  lock.balance.store(bias::lowest);
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_FALSE(test::is_biased(lock));
  lock.balance.store(bias::highest);
  EXPECT_EQ(test::try_lock(lock), test::busy) << "the reader's hold is in its slot all the same";
  EXPECT_FALSE(test::is_biased(lock)) << "it did not take the bias, so it does not give it";
  EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
}

TEST(bias, is_not_given_while_a_preferred_writer_waits) {
  rwlock lock;
  helper_thread reader, writer;
  ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
  writer.begin([&] { test::write(lock); });
  ASSERT_TRUE(writer.falls_asleep());
  EXPECT_EQ(reader.call([&] {
    for (int i = 0; i < test::reads_that_earn_bias; ++i) {
      test::read(lock, 1);
      if (test::is_biased(lock)) return 0;
    }
    return 1;
  }),
            1);
  EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
  EXPECT_EQ(writer.end(), 0);
}

TEST(bias, account_is_bounded_at_both_ends) {
  rwlock lock;
  for (int i = 0; i < 100; ++i) bias::add(lock, 5'000);
  EXPECT_EQ(lock.balance.load(), bias::highest);
  bias::add(lock, -1);
  EXPECT_EQ(lock.balance.load(), bias::highest - 1);
  for (int i = 0; i < 100; ++i) bias::add(lock, -5'000);
  EXPECT_EQ(lock.balance.load(), bias::lowest);
  bias::add(lock, 1);
  EXPECT_EQ(lock.balance.load(), bias::lowest + 1);
}

TEST(bias, account_stays_within_its_bounds_whatever_threads_do) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  test::read(lock, 100'000);
  test::write(lock);
  EXPECT_LE(lock.balance.load(), bias::highest);
  EXPECT_GT(lock.balance.load(), 0);
  for (int i = 0; i < 10'000; ++i) {
    test::write(lock);
    ASSERT_GE(lock.balance.load(), bias::lowest);
  }
  EXPECT_LT(lock.balance.load(), 0);
  EXPECT_TRUE(test::earn_bias(lock)) << "however often it was written";
}

TEST(bias, a_lone_reader_saves_what_its_core_takes_for_two_updates) {
  EXPECT_EQ(bias::saved_alone(2'250), 1) << "a core to which an update is cheap";
  EXPECT_EQ(bias::saved_alone(6'500), 10);
  EXPECT_EQ(bias::saved_alone(1), 1) << "and never nothing";
  EXPECT_EQ(bias::saved_alone(100'000), 12) << "a measurement that another thread disturbed";
  EXPECT_LT(bias::saved_by_read(false), bias::saved_by_read(true));
}

TEST(bias, account_is_credited_each_passive_read_once) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  forget_uncredited_reads(lock);
  constexpr int reads = 100;
  test::read(lock, reads);
  EXPECT_EQ(lock.balance.load(), 0) << "passive reads leave no trace in the lock";
  bias::credit_passive_reads(lock, my_record(), false);
  EXPECT_EQ(lock.balance.load(), reads * bias::saved_by_read(false));
  bias::credit_passive_reads(lock, my_record(), false);
  EXPECT_EQ(lock.balance.load(), reads * bias::saved_by_read(false));

  lock.balance.store(0);
  test::read(lock, reads);
  bias::credit_passive_reads(lock, my_record(), true);
  EXPECT_EQ(lock.balance.load(), reads * bias::saved_by_read(lock, my_record(), true));
}

TEST(bias, a_read_saves_more_where_the_line_takes_long_to_come) {
  rwlock lock;
  thread_record& me = my_record();
  auto& saved = me.saved[home_slot(&lock)];
  saved = 0;
  EXPECT_EQ(bias::saved_by_read(lock, me, true), bias::saved_among_others);
  saved = 100;
  EXPECT_EQ(bias::saved_by_read(lock, me, true), 100);
  EXPECT_EQ(bias::saved_by_read(lock, me, false), bias::saved_by_read(false)) << "alone";
  saved = 1;
  EXPECT_EQ(bias::saved_by_read(lock, me, true), bias::saved_among_others) << "never less";
  saved = 0;
}

TEST(bias, the_wait_for_the_line_is_believed_up_to_what_a_line_takes) {
  EXPECT_FALSE(bias::is_to_be_measured(2));
  EXPECT_TRUE(bias::is_to_be_measured(4));
  EXPECT_EQ(bias::learnt(0, 50, 64), 100) << "the line comes twice";
  EXPECT_EQ(bias::learnt(50, 50, 64), 100);
  EXPECT_EQ(bias::learnt(240, 0, 64), 210) << "it may still have been there";
  EXPECT_EQ(bias::learnt(240, 40, 64), 220);
  constexpr std::uint64_t without_a_cpu = 4'000'000;
  EXPECT_EQ(bias::learnt(0, without_a_cpu, 64), bias::most_saved(64));
  EXPECT_EQ(bias::learnt(0, without_a_cpu, 4), bias::most_saved(4));
  EXPECT_LT(bias::most_saved(4), bias::most_saved(64));
  EXPECT_EQ(bias::most_saved(64), bias::most_saved(4'096));
}

TEST(bias, the_wait_for_the_line_is_not_measured_by_a_slow_clock) {
  std::uint32_t average = 0;
  for (int i = 0; i < 1'000; ++i) average = bias::average_of_clock(average, 30);
  EXPECT_FALSE(bias::is_slow_clock(average));
  constexpr std::uint64_t without_a_cpu = 4'000'000;
  EXPECT_FALSE(bias::is_slow_clock(bias::average_of_clock(average, without_a_cpu)));
  for (int i = 0; i < 8; ++i) average = bias::average_of_clock(average, 300);
  EXPECT_TRUE(bias::is_slow_clock(average)) << "a system call";
}

TEST(bias, is_earned_by_reads_that_lose_a_race_at_what_the_line_takes_to_come) {
  rwlock lock;
  thread_record& me = my_record();
  auto& saved = me.saved[home_slot(&lock)];
  const auto credited = [&](const thread_record* by, std::uint64_t changed) {
    lock.balance.store(0);
    bias::credit_lost_read(lock, by, changed);
    return std::int32_t{lock.balance.load()};
  };
  saved = 300;
  EXPECT_EQ(credited(&me, rwlock::one_reader), 300);
  EXPECT_EQ(credited(nullptr, rwlock::one_reader), bias::cost_of_lost_race);
  EXPECT_EQ(credited(&me, rwlock::one_reader | rwlock::writing), 0) << "lost to a writer";
  saved = 1;
  EXPECT_EQ(credited(&me, rwlock::one_reader), bias::cost_of_lost_race);
  saved = 0;
}

TEST(bias, what_a_read_saves_is_forgotten_with_the_revocations) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  forget_uncredited_reads(lock);
  auto& saved = my_record().saved[home_slot(&lock)];
  saved = 200;
  test::read(lock, 10);
  bias::credit_passive_reads(lock, my_record(), true);
  EXPECT_EQ(lock.balance.load(), 10 * 200);
  EXPECT_LT(saved, 200);
  for (int i = 0; i < 1'000; ++i) saved = bias::faded(saved);
  EXPECT_EQ(saved, 0);
}

TEST(bias, one_update_after_many_writes_does_not_earn_it) {
  EXPECT_EQ(bias::credited_by_update(48, 20), 960);
  EXPECT_LT(bias::lowest + bias::credited_by_update(48, 400), bias::enough_for_bias);
  EXPECT_GE(bias::lowest + 2 * bias::credited_by_update(48, 400), bias::enough_for_bias);
}

TEST(bias, account_is_credited_by_the_revoking_writer) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  forget_uncredited_reads(lock);
  test::read(lock, 4'000);
  test::lock(lock);
  EXPECT_EQ(my_record().credited[home_slot(&lock)], my_record().reads[home_slot(&lock)].load());
  EXPECT_GT(lock.balance.load(), 0);
  test::unlock(lock);
}

TEST(bias, account_is_debited_by_readers_with_the_writes_since) {
  rwlock lock;
  // With its record, or this thread would be alone, and its periods long.
  helper_thread writer;
  writer.call([] {
    rwlock any;
    test::read(any, 1);
  });
  test::read(lock, 1);
  for (int i = 0; i < 2; ++i) settle(lock);
  // From here on, a full period of reads is credited each time.
  constexpr std::int32_t cost = 500;
  default_domain.round_cost.store(cost);
  lock.balance.store(0);
  settle(lock);
  EXPECT_GT(lock.balance.load(), 0);
  EXPECT_LT(lock.balance.load(), bias::enough_for_bias);
  lock.balance.store(0);
  writer.call([&] {
    for (int i = 0; i < 3; ++i) test::write(lock);
  });
  EXPECT_EQ(lock.balance.load(), 0) << "writes leave the account alone";
  settle(lock);
  constexpr std::int32_t longest_period = active_reads_per_account + 8;
  const std::int32_t saved = bias::saved_by_read(lock, my_record(), true);
  EXPECT_LE(lock.balance.load(), longest_period * saved - 3 * bias::cost_of_wait(cost));
  lock.balance.store(0);
  settle(lock);
  EXPECT_GT(lock.balance.load(), 0) << "each write is debited once";
}

TEST(bias, account_is_debited_with_every_write_since) {
  helper_thread other;
  other.call([] {
    rwlock any;
    test::read(any, 1);
  });
  rwlock lock;
  test::read(lock, 1);
  settle(lock);
  lock.balance.store(0);
  constexpr int more_than_a_byte_holds = 256;
  for (int i = 0; i < more_than_a_byte_holds; ++i) test::write(lock);
  settle(lock);
  EXPECT_LT(lock.balance.load(), 0);
}

TEST(bias, a_lock_of_one_thread_among_many_is_credited_as_that_of_a_thread_that_is_alone) {
  helper_thread other;
  rwlock lock;
  other.call([&] { test::read(lock, 1); });
  settle(lock);  // the account is as somebody else may have left it
  lock.balance.store(0);
  settle(lock);
  const std::int32_t shared = lock.balance.load();
  settle(lock);
  const std::int32_t own = lock.balance.load() - shared;
  EXPECT_GT(own, 0);
  EXPECT_LE(own, active_reads_per_rare_account * bias::saved_by_read(false));
  if (bias::saved_by_read(false) < 4) {
    EXPECT_LT(own, shared);
  }
  other.call([&] { settle(lock); });
  EXPECT_FALSE(bias::is_used_alone(lock, my_record()));
  settle(lock);
  EXPECT_TRUE(bias::is_used_alone(lock, my_record()));
}

TEST(bias, of_a_lock_of_one_thread_among_many_does_not_pay_for_rounds) {
  helper_thread other;
  rwlock lock;
  rwlock of_other;
  ASSERT_TRUE(test::earn_bias(lock));
  // They save less than the shortest round with a membarrier costs; among others they would save 10
  // to 20 times as much.
  const int reads = 1'000 / bias::saved_by_read(false);
  const auto write_beside_the_other = [&] {
    ASSERT_TRUE(other.call([&] {
      come_online(my_record());
      return is_online(my_record()) ? 1 : 0;
    }));
    test::read(lock, reads);
    test::write(lock);
  };
  other.call([&] { test::read(of_other, 1); });
  lock.balance.store(bias::enough_for_bias);
  for (int i = 0; i < 1'000 && test::is_biased(lock); ++i) write_beside_the_other();
  EXPECT_FALSE(test::is_biased(lock));
}

TEST(bias, account_is_updated_rarely_by_a_thread_that_is_alone_or_if_little_comes_of_it) {
  rwlock lock;
  const auto period_in_the_long_run = [&](std::int32_t balance) {
    for (int i = 0; i < 10; ++i) {
      lock.balance.store(static_cast<std::int16_t>(balance));
      settle(lock);
    }
    return my_record().account_period.load();
  };
  EXPECT_GE(period_in_the_long_run(0), 3 * active_reads_per_account);
  helper_thread other;
  other.call([&] { test::read(lock, 1); });
  EXPECT_LE(period_in_the_long_run(0), active_reads_per_account + 8);
  EXPECT_GE(period_in_the_long_run(bias::lowest), 3 * active_reads_per_account);

  // This lock happens to be the next one.
  rwlock another;
  settle(another);
  EXPECT_LE(another.balance.load(),
            active_reads_per_account * bias::saved_by_read(another, my_record(), true));
}

// The account of reads is settled by chance, hence the many turns.
bool earns_bias_beside_writes(rwlock& lock, int reads_between) {
  for (int i = 0; i < 400 && !test::is_biased(lock); ++i) {
    test::write(lock);
    test::read(lock, reads_between);
  }
  return test::is_biased(lock);
}

TEST(bias, is_earned_beside_writes_by_a_thread_that_is_alone) {
  // What these reads save is less than what a wait of two microseconds costs; on any core twice as
  // many save more than a look.
  constexpr int reads = 79;
  default_domain.round_cost.store(2'000);
  rwlock among_others;
  {
    helper_thread other;
    other.call([&] {
      test::read(among_others, 1);
      come_online(my_record());
    });
    EXPECT_FALSE(earns_bias_beside_writes(among_others, reads))
        << "each write would wait for the other";
  }
  ASSERT_TRUE(has_one_thread(default_domain));
  default_domain.round_cost.store(2'000);
  rwlock alone;
  EXPECT_TRUE(earns_bias_beside_writes(alone, 2 * reads))
      << "a write would find nobody to wait for";
}

TEST(bias, estimate_of_what_a_revocation_costs_ages_with_writes) {
  auto& cost = default_domain.round_cost;
  cost.store(20'000);
  rwlock lock;
  lock.traits.store(rwlock::never_biased);
  for (int i = 0; i < 200; ++i) {
    for (int k = 0; k < 64; ++k) test::write(lock);
    settle(lock);
  }
  EXPECT_LE(cost.load(), bias::least_cost);
  EXPECT_GT(cost.load(), 0U);
}

TEST(bias, is_never_given_to_a_lock_whose_trait_forbids_it) {
  rwlock lock;
  lock.traits.store(rwlock::never_biased);
  EXPECT_FALSE(test::earn_bias(lock));
  lock.balance.store(bias::highest);
  write_and_decide(lock);
  EXPECT_FALSE(test::is_biased(lock));
}

TEST(bias, is_never_given_to_a_lock_in_shared_memory_if_the_mapping_is_checked) {
  rules checked;
  checked.check_mapping = true;
  test::shared_object<rwlock> by_reads;
  EXPECT_FALSE(test::earn_bias(*by_reads.operator->(), checked));
  EXPECT_NE(by_reads->traits.load() & rwlock::never_biased, 0);

  test::shared_object<rwlock> by_writes;
  for (int i = 0; i < 10; ++i) {
    by_writes->balance.store(bias::highest);
    write_and_decide(*by_writes.operator->(), checked);
    ASSERT_FALSE(test::is_biased(*by_writes.operator->()));
  }
}

TEST(bias, is_given_to_a_lock_in_private_memory_whose_mapping_is_checked) {
  rules checked;
  checked.check_mapping = true;
  const auto lock = std::make_unique<rwlock>();
  EXPECT_TRUE(test::earn_bias(*lock, checked));
  EXPECT_NE(lock->traits.load() & rwlock::private_memory, 0) << "not to be asked again";
}

TEST(bias, is_not_lost_for_ever_if_the_mapping_could_not_be_checked) {
  test::in_a_child([] {
    rules checked;
    checked.check_mapping = true;
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    const rlimit none{0, limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
    rwlock lock;
    lock.balance.store(bias::enough_for_bias);
    settle(lock, checked);
    EXPECT_FALSE(test::is_biased(lock));
    EXPECT_LT(lock.balance.load(), 0) << "the next attempt is far off";
    lock.balance.store(bias::highest);
    write_and_decide(lock, checked);
    EXPECT_FALSE(test::is_biased(lock));
    EXPECT_LT(lock.balance.load(), 0);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_TRUE(test::earn_bias(lock, checked));
  });
}

TEST(bias, is_given_to_a_lock_in_shared_memory_if_nobody_asks) {
  test::shared_object<rwlock> lock;
  EXPECT_TRUE(test::earn_bias(*lock.operator->()));
  test::write(*lock.operator->());
}

TEST(bias, ends_when_somebody_releases_the_passive_hold_of_another_thread) {
  rwlock lock;
  helper_thread reader;
  ASSERT_TRUE(test::earn_bias(lock));
  ASSERT_EQ(reader.call([&] { return test::lock_shared(lock); }), test::acquired);
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(test::try_lock(lock), test::acquired) << "the hold and the debt cancel each other";
  test::unlock(lock);
  EXPECT_FALSE(test::earn_bias(lock));
  EXPECT_FALSE(test::unlock_shared(lock)) << "there is nothing to release";
}

}  // namespace
