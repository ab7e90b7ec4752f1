// SPDX-License-Identifier: Apache-2.0
// From a read hold to a write hold and back, with others inside and others waiting.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <functional>
#include <string>

#include "support/sorts.hpp"

namespace {

using namespace readmost::detail;
using readmost::preference;
using test::helper_thread;
using test::hold;

constexpr std::uint64_t millisecond = 1'000'000;

// Whether another thread can have the lock now; leaves it as it was.
bool others_can_read(rwlock& lock, rules how = {}) {
  helper_thread other;
  return other.call([&] {
    return test::try_lock_shared(lock, how) == test::acquired && test::unlock_shared(lock);
  }) == 1;
}

bool others_can_write(rwlock& lock, rules how = {}) {
  helper_thread other;
  return other.call([&] {
    if (test::try_lock(lock, how) != test::acquired) return 0;
    test::unlock(lock, how);
    return 1;
  }) == 1;
}

void expect_held_shared(rwlock& lock, rules how = {}) {
  EXPECT_TRUE(others_can_read(lock, how));
  EXPECT_FALSE(others_can_write(lock, how));
}

void expect_held_alone(rwlock& lock, rules how = {}) {
  EXPECT_FALSE(others_can_read(lock, how));
  EXPECT_FALSE(others_can_write(lock, how));
}

// Runs the body for every policy and sort of hold of one reader.
void for_each_hold(const std::function<void(rwlock&, rules, hold)>& body) {
  for (const preference prefers : test::preferences) {
    for (const hold h : test::holds) {
      SCOPED_TRACE(test::name_of(prefers));
      SCOPED_TRACE(test::name_of(h));
      rwlock lock;
      const rules how{.prefers = prefers};
      if (h == hold::passive) {
        ASSERT_TRUE(test::earn_bias(lock, how));
      } else {
        test::keep_without_bias(lock);
      }
      body(lock, how, h);
    }
  }
}

// Two readers of every sort that hold one lock; the first is the one to upgrade.
class two_readers {
 public:
  two_readers(preference prefers, hold of_first, hold of_second) : how{.prefers = prefers} {
    test::share(lock, first, of_first, second, of_second, how);
  }

  bool begin_upgrade() {
    first.begin([this] { return test::upgrade(lock, how); });
    return first.falls_asleep();
  }

  bool leave(helper_thread& reader) {
    return reader.call([this] { return test::unlock_shared(lock); }) == 1;
  }

  void stop_writing(helper_thread& writer) {
    writer.call([this] { test::unlock(lock, how); });
  }

  // The second leaves, which lets the first one in.
  void complete_upgrade() {
    ASSERT_TRUE(leave(second));
    ASSERT_EQ(first.end(), test::acquired);
    stop_writing(first);
    test::expect_free(lock, how);
  }

  rwlock lock;
  rules how;
  helper_thread first, second;
};

void for_each_pair(const std::function<void(two_readers&)>& body) {
  for (const preference prefers : test::preferences) {
    for (const hold of_first : test::holds) {
      for (const hold of_second : test::holds) {
        SCOPED_TRACE(test::name_of(prefers));
        SCOPED_TRACE(std::string("the first ") + test::name_of(of_first));
        SCOPED_TRACE(std::string("the second ") + test::name_of(of_second));
        two_readers both(prefers, of_first, of_second);
        if (testing::Test::HasFatalFailure()) return;
        body(both);
      }
    }
  }
}

TEST(upgrade, of_the_only_reader_succeeds_at_once) {
  for (const bool tries : {false, true}) {
    SCOPED_TRACE(tries ? "try_upgrade" : "upgrade");
    for_each_hold([&](rwlock& lock, rules how, hold h) {
      for (int round = 0; round < 3; ++round) {
        ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
        EXPECT_EQ(test::holds_passively(lock), h == hold::passive) << "round " << round;
        EXPECT_EQ(tries ? test::try_upgrade(lock, how) : test::upgrade(lock, how), test::acquired);
        expect_held_alone(lock, how);
        test::unlock(lock, how);
        test::expect_free(lock, how);
        if (h == hold::passive) {
          ASSERT_TRUE(test::earn_bias(lock, how));
        }
      }
    });
  }
}

TEST(upgrade, waits_until_the_other_readers_have_left) {
  for_each_pair([](two_readers& both) {
    ASSERT_TRUE(both.begin_upgrade());
    EXPECT_FALSE(others_can_write(both.lock, both.how));
    ASSERT_TRUE(both.leave(both.second));
    ASSERT_EQ(both.first.end(), test::acquired);
    expect_held_alone(both.lock, both.how);
    both.stop_writing(both.first);
    test::expect_free(both.lock, both.how);
  });
}

TEST(upgrade, keeps_new_readers_out_while_it_waits_unless_readers_are_preferred) {
  for_each_pair([](two_readers& both) {
    ASSERT_TRUE(both.begin_upgrade());
    EXPECT_EQ(others_can_read(both.lock, both.how), both.how.prefers == preference::reader);
    both.complete_upgrade();
  });
}

TEST(upgrade, waits_for_every_one_of_many_readers) {
  for (const preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    two_readers both(prefers, hold::active, hold::passive);
    std::array<helper_thread, 5> more;
    for (helper_thread& reader : more) {
      ASSERT_EQ(reader.call([&] { return test::lock_shared_as(both.lock, hold::passive); }), 1);
    }
    ASSERT_TRUE(both.begin_upgrade());
    for (helper_thread& reader : more) {
      ASSERT_TRUE(both.leave(reader));
      EXPECT_TRUE(both.first.falls_asleep()) << "there are still readers";
    }
    both.complete_upgrade();
  }
}

TEST(upgrade, lets_the_other_reader_read_again_while_it_waits) {
  for_each_pair([](two_readers& both) {
    ASSERT_TRUE(both.begin_upgrade());
    constexpr int depth = 12;
    EXPECT_EQ(both.second.call([&] {
      for (int i = 0; i < depth; ++i) test::lock_shared(both.lock, both.how);
      for (int i = 0; i < depth; ++i) test::unlock_shared(both.lock);
    }),
              0);
    EXPECT_TRUE(both.first.falls_asleep());
    both.complete_upgrade();
  });
}

TEST(upgrade, tried_beside_another_reader_is_refused_and_leaves_the_hold_as_it_was) {
  for_each_pair([](two_readers& both) {
    const bool was_biased = test::is_biased(both.lock);
    both.lock.balance.store(20'000);  // so that the bias is worth keeping
    const auto attempt = [&] { return test::try_upgrade(both.lock, both.how); };
    EXPECT_EQ(both.first.call(attempt), test::busy);
    EXPECT_EQ(test::is_biased(both.lock), was_biased);
    expect_held_shared(both.lock, both.how);
    ASSERT_TRUE(both.leave(both.second));
    expect_held_shared(both.lock, both.how);
    EXPECT_EQ(both.first.call(attempt), test::acquired);
    both.stop_writing(both.first);
    test::expect_free(both.lock, both.how);
  });
}

// Both would wait for each other's hold.
TEST(upgrade, is_refused_while_another_thread_upgrades) {
  for_each_pair([](two_readers& both) {
    ASSERT_TRUE(both.begin_upgrade());
    EXPECT_EQ(both.second.call([&] { return test::upgrade(both.lock, both.how); }), test::busy);
    EXPECT_EQ(both.second.call([&] { return test::try_upgrade(both.lock, both.how); }), test::busy);
    EXPECT_TRUE(both.first.falls_asleep()) << "the hold of the refused one is left";
    both.complete_upgrade();
  });
}

// The test sets a third reader's claim itself, so that both arrive while it is undecided.
TEST(upgrade, all_that_waited_for_an_undecided_claim_hear_of_its_end) {
  for (const preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    two_readers both(prefers, hold::active, hold::active);
    helper_thread* const upgraders[] = {&both.first, &both.second};
    both.lock.state.fetch_or(rwlock::writing);
    for (helper_thread* upgrader : upgraders) {
      upgrader->begin([&] {
        const int result = test::upgrade(both.lock, both.how);
        if (result == test::busy) test::unlock_shared(both.lock);
        return result;
      });
    }
    for (helper_thread* upgrader : upgraders) ASSERT_TRUE(upgrader->falls_asleep());
    test::unlock(both.lock, both.how);
    int successes = 0;
    for (helper_thread* upgrader : upgraders) {
      const int result = upgrader->end();
      if (result == test::busy) continue;
      ASSERT_EQ(result, test::acquired);
      both.stop_writing(*upgrader);
      ++successes;
    }
    EXPECT_EQ(successes, 1);
    test::expect_free(both.lock, both.how);
  }
}

TEST(upgrade, goes_ahead_of_a_writer_that_waits) {
  for_each_pair([](two_readers& both) {
    helper_thread writer;
    std::atomic<int> turn{0};
    std::atomic<int> wrote{0};
    writer.begin([&] {
      const int result = test::lock(both.lock, both.how);
      wrote = ++turn;
      test::unlock(both.lock, both.how);
      return result;
    });
    ASSERT_TRUE(writer.falls_asleep());
    ASSERT_TRUE(both.begin_upgrade());
    ASSERT_TRUE(both.leave(both.second));
    ASSERT_EQ(both.first.end(), test::acquired);
    EXPECT_EQ(++turn, 1);
    EXPECT_TRUE(writer.in_call());
    both.stop_writing(both.first);
    EXPECT_EQ(writer.end(), test::acquired);
    EXPECT_EQ(wrote, 2);
    test::expect_free(both.lock, both.how);
  });
}

TEST(upgrade, at_once_goes_ahead_of_a_writer_that_waits) {
  for_each_hold([](rwlock& lock, rules how, hold) {
    helper_thread writer;
    ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
    writer.begin([&] { test::write(lock, how); });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_EQ(test::try_upgrade(lock, how), test::acquired);
    EXPECT_TRUE(writer.in_call());
    test::unlock(lock, how);
    EXPECT_EQ(writer.end(), 0);
    test::expect_free(lock, how);
  });
}

TEST(upgrade, gives_up_at_its_deadline_and_keeps_the_hold_shared) {
  for_each_pair([](two_readers& both) {
    EXPECT_EQ(both.first.call([&] {
      const test::hasty_rules hasty(both.how, 20 * millisecond);
      const int result = test::upgrade(both.lock, hasty);
      if (!hasty.is_over()) return -2;
      return result;
    }),
              test::timed_out);
    expect_held_shared(both.lock, both.how);
    ASSERT_TRUE(both.leave(both.second));
    expect_held_shared(both.lock, both.how);
    EXPECT_EQ(both.first.call([&] { return test::upgrade(both.lock, both.how); }), test::acquired);
    expect_held_alone(both.lock, both.how);
    both.stop_writing(both.first);
    test::expect_free(both.lock, both.how);
  });
}

TEST(upgrade, that_gives_up_lets_those_in_that_waited_behind_it) {
  for_each_pair([](two_readers& both) {
    helper_thread newcomer;
    both.first.begin(
        [&] { return test::upgrade(both.lock, test::hasty_rules(both.how, 300 * millisecond)); });
    ASSERT_TRUE(both.first.settles());
    newcomer.begin([&] { return test::lock_shared(both.lock, both.how); });
    EXPECT_EQ(both.first.end(), test::timed_out);
    EXPECT_EQ(newcomer.end(), test::acquired);
    for (helper_thread* reader : {&both.first, &both.second, &newcomer}) {
      EXPECT_TRUE(both.leave(*reader));
    }
    test::expect_free(both.lock, both.how);
  });
}

TEST(upgrade, whose_deadline_has_passed_succeeds_where_it_need_not_wait) {
  for_each_hold([](rwlock& lock, rules how, hold) {
    const platform::deadline until{CLOCK_MONOTONIC, {0, 0}};
    how.until = &until;
    ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
    EXPECT_EQ(test::upgrade(lock, how), test::acquired);
    test::unlock(lock, how);
  });
}

TEST(upgrade, is_refused_to_who_holds_the_lock_twice) {
  for_each_hold([](rwlock& lock, rules how, hold) {
    helper_thread reader;
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(reader.call([&] { return test::lock_shared(lock, how); }), test::acquired);
    }
    ASSERT_EQ(reader.call([&] { return test::upgrade(lock, how); }), test::busy);
    EXPECT_EQ(reader.call([&] { return test::try_upgrade(lock, how); }), test::busy);
    expect_held_shared(lock, how);
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    expect_held_shared(lock, how);
    EXPECT_EQ(reader.call([&] { return test::upgrade(lock, how); }), test::acquired);
    reader.call([&] { test::unlock(lock, how); });
    test::expect_free(lock, how);
  });
}

// No slot is free for the hold, or only one that is not its home slot.
TEST(upgrade, takes_the_right_hold_of_a_thread_that_holds_many_locks) {
  constexpr std::size_t most = passive_slots + 2;
  for (std::size_t others = 1; others <= most; ++others) {
    SCOPED_TRACE(others);
    for_each_hold([&](rwlock& lock, rules how, hold h) {
      std::array<rwlock, most> more;
      for (std::size_t i = 0; i < others; ++i) {
        more[i].balance.store(20'000);
        ASSERT_TRUE(test::earn_bias(more[i]));
      }
      for (std::size_t i = 0; i < others; ++i)
        ASSERT_EQ(test::lock_shared(more[i]), test::acquired);
      const bool has_room = my_record().nested.load() < nested_slots;
      EXPECT_TRUE(has_room || others > nested_slots);
      EXPECT_TRUE(!has_room || others < passive_slots);
      ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
      EXPECT_EQ(test::holds_passively(lock), h == hold::passive && has_room);
      EXPECT_EQ(test::upgrade(lock, how), test::acquired);
      expect_held_alone(lock, how);
      for (std::size_t i = 0; i < others; ++i) EXPECT_FALSE(others_can_write(more[i]));
      downgrade(lock, how);
      expect_held_shared(lock, how);
      for (std::size_t i = 0; i < others; ++i) EXPECT_TRUE(test::unlock_shared(more[i]));
      expect_held_shared(lock, how);
      EXPECT_TRUE(test::unlock_shared(lock));
      test::expect_free(lock, how);
      for (std::size_t i = 0; i < others; ++i) test::expect_free(more[i]);
    });
  }
}

TEST(upgrade, by_a_thread_that_took_the_lock_passively_counts_as_a_revocation_and_a_write) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  ASSERT_EQ(test::lock_shared(lock), test::acquired);
  const std::uint64_t writes = my_record().writes.load();
  const std::uint64_t revocations = my_record().revocations.load();
  ASSERT_EQ(test::upgrade(lock), test::acquired);
  EXPECT_EQ(my_record().writes.load(), writes + 1);
  EXPECT_EQ(my_record().revocations.load(), revocations + 1);
  test::unlock(lock);
}

TEST(downgrade, keeps_the_lock_for_reading) {
  for_each_hold([](rwlock& lock, rules how, hold) {
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    downgrade(lock, how);
    expect_held_shared(lock, how);
    EXPECT_TRUE(test::unlock_shared(lock));
    test::expect_free(lock, how);
  });
}

TEST(downgrade, lets_waiting_readers_in) {
  for_each_hold([](rwlock& lock, rules how, hold) {
    std::array<helper_thread, 3> readers;
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    for (helper_thread& reader : readers) {
      reader.begin([&] { return test::lock_shared(lock, how); });
    }
    for (helper_thread& reader : readers) ASSERT_TRUE(reader.falls_asleep());
    downgrade(lock, how);
    for (helper_thread& reader : readers) EXPECT_EQ(reader.end(), test::acquired);
    EXPECT_TRUE(test::unlock_shared(lock));
    for (helper_thread& reader : readers) {
      EXPECT_FALSE(others_can_write(lock, how));
      EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    }
    test::expect_free(lock, how);
  });
}

TEST(downgrade, lets_no_writer_in) {
  for_each_hold([](rwlock& lock, rules how, hold) {
    helper_thread writer;
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    writer.begin([&] { test::write(lock, how); });
    ASSERT_TRUE(writer.falls_asleep());
    downgrade(lock, how);
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_FALSE(others_can_write(lock, how));
    EXPECT_EQ(others_can_read(lock, how), how.prefers == preference::reader);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(writer.end(), 0);
    test::expect_free(lock, how);
  });
}

TEST(downgrade, and_upgrade_may_follow_one_another) {
  for_each_hold([](rwlock& lock, rules how, hold) {
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    for (int i = 0; i < 100; ++i) {
      downgrade(lock, how);
      ASSERT_EQ(test::upgrade(lock, how), test::acquired);
    }
    expect_held_alone(lock, how);
    downgrade(lock, how);
    expect_held_shared(lock, how);
    EXPECT_TRUE(test::unlock_shared(lock));
    test::expect_free(lock, how);
  });
}

TEST(downgrade, keeps_the_bias_that_is_worth_it_and_gives_what_was_earned) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  ASSERT_EQ(test::lock(lock), test::acquired);
  lock.balance.store(0);
  downgrade(lock, {});
  EXPECT_TRUE(test::is_biased(lock)) << "kept";
  expect_held_shared(lock);
  EXPECT_TRUE(test::unlock_shared(lock));
  test::expect_free(lock);

  rwlock other;
  ASSERT_TRUE(test::earn_bias(other)) << "its first bias comes from a reader";
  other.balance.store(-6'000);
  test::write(other);
  ASSERT_FALSE(test::is_biased(other));
  ASSERT_EQ(test::lock(other), test::acquired);
  other.balance.store(20'000);
  downgrade(other, {});
  EXPECT_TRUE(test::is_biased(other)) << "given";
  expect_held_shared(other);
  EXPECT_EQ(test::upgrade(other), test::acquired) << "from an active hold of a biased lock";
  expect_held_alone(other);
  test::unlock(other);
  test::expect_free(other);
}

TEST(downgrade, may_be_followed_by_another_read_lock_while_a_writer_waits) {
  for_each_hold([](rwlock& lock, rules how, hold) {
    helper_thread writer;
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    writer.begin([&] { test::write(lock, how); });
    ASSERT_TRUE(writer.falls_asleep());
    downgrade(lock, how);
    EXPECT_EQ(test::lock_shared(lock, how), test::acquired);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(writer.end(), 0);
  });
}

}  // namespace
