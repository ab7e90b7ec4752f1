// SPDX-License-Identifier: Apache-2.0
// A thread that was woken and found the lock taken again goes ahead of those that have not slept.
#include "hand_off.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>

#include "lock/bias.hpp"
#include "support/single_step.hpp"
#include "support/sorts.hpp"

namespace {

using namespace readmost::detail;
using readmost::preference;
using test::helper_thread;

bool is_asked_for(const rwlock& lock) {
  return (lock.state.load() & rwlock::handoff) != 0;
}

void for_each_preference(const std::function<void(rwlock&, rules)>& body) {
  for (const preference prefers : test::preferences) {
    SCOPED_TRACE(test::name_of(prefers));
    rwlock lock;
    body(lock, {.prefers = prefers});
  }
}

// The test lets the lock go and is at once back for more, before a thread that sleeps can run. Were
// it let in, `was_inside` would still be false.
class returning_thread {
 public:
  returning_thread(rwlock& lock, rules how) : lock_(lock), how_(how) {}

  void let_it_ask() {
    ASSERT_EQ(test::lock(lock_, how_), test::acquired);
    writer_.begin([this] {
      const int result = test::lock(lock_, how_);
      was_inside_ = true;
      test::unlock(lock_, how_);
      return result;
    });
    ASSERT_TRUE(writer_.falls_asleep());
    platform::futex_wake(sleep_word(lock_), 1, parking::writers);
    ASSERT_TRUE(test::wait_until([&] { return is_asked_for(lock_); }));
    ASSERT_TRUE(writer_.falls_asleep());
  }
  void let_go() { test::unlock(lock_, how_); }
  bool was_inside() const { return was_inside_; }
  int end() { return writer_.end(); }

 private:
  rwlock& lock_;
  rules how_;
  std::atomic<bool> was_inside_{false};
  helper_thread writer_;
};

TEST(hand_off, is_asked_for_by_a_writer_that_slept_and_lost) {
  for_each_preference([](rwlock& lock, rules how) {
    helper_thread writer;
    ASSERT_TRUE(test::has_it_ask_to_be_next(lock, writer, how));
    test::unlock(lock, how);
    EXPECT_EQ(writer.end(), test::acquired);
    EXPECT_FALSE(is_asked_for(lock)) << "it has what it asked for";
    writer.call([&] { test::unlock(lock, how); });
    test::expect_free(lock, how);
  });
}

TEST(hand_off, is_asked_for_by_a_writer_that_goes_to_sleep) {
  for_each_preference([](rwlock& lock, rules how) {
    helper_thread writer;
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    writer.begin([&] { test::write(lock, how); });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_TRUE(is_asked_for(lock));
    test::unlock(lock, how);
    EXPECT_EQ(writer.end(), 0);
  });
}

TEST(hand_off, keeps_out_a_writer_that_has_not_slept) {
  for_each_preference([](rwlock& lock, rules how) {
    for (int round = 0; round < 20; ++round) {
      returning_thread writer(lock, how);
      writer.let_it_ask();
      writer.let_go();
      ASSERT_EQ(test::lock(lock, how), test::acquired);
      EXPECT_TRUE(writer.was_inside());
      test::unlock(lock, how);
      EXPECT_EQ(writer.end(), test::acquired);
    }
    test::expect_free(lock, how);
  });
}

TEST(hand_off, keeps_readers_out_while_nobody_is_inside) {
  for_each_preference([](rwlock& lock, rules how) {
    for (int round = 0; round < 20; ++round) {
      returning_thread writer(lock, how);
      writer.let_it_ask();
      writer.let_go();
      ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
      EXPECT_TRUE(writer.was_inside());
      EXPECT_TRUE(test::unlock_shared(lock));
      EXPECT_EQ(writer.end(), test::acquired);
    }
    test::expect_free(lock, how);
  });
}

TEST(hand_off, does_not_keep_out_who_only_tries) {
  for_each_preference([](rwlock& lock, rules how) {
    test::write(lock, how);
    lock.state.fetch_or(rwlock::handoff);  // as long as the writer has not run yet
    ASSERT_EQ(test::try_lock(lock, how), test::acquired);
    EXPECT_TRUE(is_asked_for(lock)) << "it is not the one that asked";
    test::unlock(lock, how);
    lock.state.fetch_and(~rwlock::handoff);
    test::expect_free(lock, how);
  });
}

// One of them may wait for the newcomer.
TEST(hand_off, does_not_keep_readers_from_readers_that_are_preferred) {
  rwlock lock;
  const rules how{.prefers = preference::reader};
  helper_thread writer, reader;
  ASSERT_TRUE(test::has_it_ask_to_be_next(lock, writer, how));
  downgrade(lock, how);
  EXPECT_TRUE(is_asked_for(lock));
  EXPECT_EQ(reader.call([&] { return test::lock_shared(lock, how); }), test::acquired);
  EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(writer.end(), test::acquired);
  writer.call([&] { test::unlock(lock, how); });
  test::expect_free(lock, how);
}

TEST(hand_off, that_is_asked_for_leaves_the_lock_without_bias) {
  for_each_preference([](rwlock& lock, rules how) {
    ASSERT_TRUE(test::earn_bias(lock, how));
    helper_thread writer;
    const auto revocations = [] { return static_cast<int>(enlist()->revocations.load()); };
    const int before = writer.call(revocations);
    ASSERT_TRUE(test::has_it_ask_to_be_next(lock, writer, how));
    lock.balance.store(20'000);
    test::unlock(lock, how);
    EXPECT_EQ(writer.end(), test::acquired);
    EXPECT_EQ(writer.call(revocations), before) << "the writer had no bias to take";
    writer.call([&] { test::unlock(lock, how); });
    EXPECT_TRUE(test::is_biased(lock)) << "the account could pay for it";
    test::expect_free(lock, how);
  });
}

// Readers that keep coming in might otherwise keep the lock without bias, and the writer waiting.
TEST(hand_off, that_is_asked_for_does_not_keep_preferred_readers_from_their_bias) {
  rwlock lock;
  const rules how{.prefers = preference::reader};
  helper_thread writer;
  ASSERT_TRUE(test::has_it_ask_to_be_next(lock, writer, how));
  downgrade(lock, how);
  ASSERT_TRUE(writer.falls_asleep());
  lock.balance.store(bias::highest);
  update_account(lock, how);
  ASSERT_TRUE(test::wait_until([&] { return lock.balance.load() != bias::highest; }))
      << "the writer has been woken, and takes the bias away, which is debited";
  ASSERT_TRUE(writer.falls_asleep()) << "there is a reader inside";
  EXPECT_TRUE(test::unlock_shared(lock));
  EXPECT_EQ(writer.end(), test::acquired);
  EXPECT_FALSE(is_asked_for(lock));
  writer.call([&] { test::unlock(lock, how); });
  test::expect_free(lock, how);
}

TEST(hand_off, ends_with_the_patience_of_the_one_that_asked) {
  for_each_preference([](rwlock& lock, rules how) {
    helper_thread writer;
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    writer.begin([&] { return test::lock(lock, test::hasty_rules(how, 500'000'000)); });
    ASSERT_TRUE(writer.settles());
    platform::futex_wake(sleep_word(lock), 1, parking::writers);
    EXPECT_TRUE(test::wait_until([&] { return is_asked_for(lock) || !writer.in_call(); }));
    EXPECT_EQ(writer.end(), test::timed_out);
    EXPECT_FALSE(is_asked_for(lock));
    test::unlock(lock, how);
    test::expect_free(lock, how);
    EXPECT_EQ(test::lock_shared(lock, how), test::acquired);
    EXPECT_TRUE(test::unlock_shared(lock));
  });
}

TEST(hand_off, that_others_asked_for_too_outlives_the_one_that_gives_up) {
  rwlock lock;
  const rules how{.prefers = preference::reader};
  helper_thread patient, hasty;
  ASSERT_EQ(test::lock(lock, how), test::acquired);
  hasty.begin([&] { return test::lock(lock, test::hasty_rules(how, 300'000'000)); });
  ASSERT_TRUE(hasty.settles());
  patient.begin([&] { return test::lock(lock, how); });
  ASSERT_TRUE(patient.falls_asleep());
  platform::futex_wake(sleep_word(lock), 2, parking::writers);
  EXPECT_EQ(hasty.end(), test::timed_out);
  ASSERT_TRUE(patient.falls_asleep());
  test::unlock(lock, how);
  EXPECT_EQ(patient.end(), test::acquired) << "it is woken all the same";
  patient.call([&] { test::unlock(lock, how); });
  test::expect_free(lock, how);
}

// Calls asleep(lock, reader) when a reader, which calls `read`, sleeps behind the calling thread's
// write; then that thread leaves and comes back at once, and the reader has had its turn. Again and
// again, until asleep() has said twenty times that the reader was where it should be.
template <class Read, class Asleep>
void expect_a_turn_for_the_reader(Read read, Asleep asleep) {
  rwlock lock;
  const rules how{.prefers = preference::reader};
  int good = 0;
  for (int round = 0; good < 20; ++round) {
    ASSERT_LT(round, 1'000);
    std::atomic<bool> was_inside{false};
    helper_thread reader;
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    reader.begin([&] {
      const int result = read(lock, how);
      was_inside = true;
      test::unlock_shared(lock);
      return result;
    });
    ASSERT_TRUE(reader.falls_asleep());
    good += asleep(lock, reader) ? 1 : 0;
    test::unlock(lock, how);
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    EXPECT_TRUE(was_inside);
    test::unlock(lock, how);
    EXPECT_EQ(reader.end(), test::acquired);
  }
  test::expect_free(lock, how);
}

bool counts_readers(const rwlock& lock) {
  return (lock.state.load() & rwlock::waiting_readers) != 0;
}

#if CAN_STEP

// Many writers seem to come and go when the call begins to spin, and before; without exact steps,
// at some moment.
int read_beside_busy_writers(rwlock& lock, rules how) {
  static const test::machine_code library = test::code_around(unlock_shared_slow);
  auto result = test::timed_out;
  test::step_through(
      library, [&] { result = test::lock_shared(lock, how); },
      [&](std::size_t step) {
        lock.writer_exits.fetch_add(100);
        return test::steps_are_exact && step < 3'000 * test::stride;
      });
  return result;
}

// Where readers are preferred, a reader that lost against writers gets a turn before the next one.
TEST(hand_off, is_asked_for_by_a_preferred_reader_that_slept_and_lost) {
  expect_a_turn_for_the_reader(
      read_beside_busy_writers, [](const rwlock& lock, const helper_thread& reader) {
        if (counts_readers(lock)) {
          EXPECT_FALSE(test::steps_are_exact);
          return false;
        }
        parking::wake_readers(sleep_word(lock));
        return test::wait_until([&] { return counts_readers(lock); }) && reader.falls_asleep();
      });
}

#endif

TEST(hand_off, is_asked_for_by_a_preferred_reader_behind_a_long_write) {
  const auto read = [](rwlock& lock, rules how) { return test::lock_shared(lock, how); };
  expect_a_turn_for_the_reader(read, [](const rwlock& lock, const helper_thread&) {
    EXPECT_TRUE(counts_readers(lock));
    return true;
  });
}

}  // namespace
