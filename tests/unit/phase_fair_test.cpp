// SPDX-License-Identifier: Apache-2.0
// preference::phase_fair: a writer, then all readers that waited, then the next writer. And the
// counts of those who wait, which it rests on.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <string>

#include "support/crowd.hpp"
#include "support/sorts.hpp"

namespace {

using namespace readmost::detail;
using readmost::preference;
using test::helper_thread;
using test::wait_until;

constexpr rules phase_fair{.prefers = preference::phase_fair};
constexpr std::uint64_t millisecond = 1'000'000;

std::uint64_t readers_counted(const rwlock& lock) {
  return (lock.state.load() & rwlock::waiting_readers) / rwlock::one_waiting_reader;
}

std::uint64_t writers_counted(const rwlock& lock) {
  return (lock.state.load() & rwlock::waiting_writers) / rwlock::one_writer;
}

// The names of those that entered, in order.
class chronicle {
 public:
  void add(const char* who) {
    const std::lock_guard guard(mutex_);
    text_ += who;
  }
  std::string text() {
    const std::lock_guard guard(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};

// A reader or writer that stays inside until it is told to leave.
class visitor {
 public:
  enum role { reads, writes };

  visitor(rwlock& lock, chronicle& all, role what, const char* name)
      : lock_(lock), all_(all), what_(what), name_(name) {}

  // Begins to wait, and is counted as waiting.
  void arrive() {
    const auto counted = [this] {
      return what_ == reads ? readers_counted(lock_) : writers_counted(lock_);
    };
    const std::uint64_t before = counted();
    thread_.begin([this] {
      if (what_ == reads) {
        test::lock_shared(lock_, phase_fair);
      } else {
        test::lock(lock_, phase_fair);
      }
      all_.add(name_);
      inside_ = true;
      const bool told = wait_until([this] { return leaving_.load(); });
      if (what_ == reads) {
        test::unlock_shared(lock_);
      } else {
        test::unlock(lock_, phase_fair);
      }
      return static_cast<int>(told);
    });
    ASSERT_TRUE(wait_until([&] { return counted() == before + 1; })) << name_;
    ASSERT_TRUE(thread_.falls_asleep()) << name_;
  }

  bool enters() {
    return wait_until([this] { return inside_.load(); });
  }
  bool is_inside() const { return inside_; }
  // To be called after an event that may have woken it.
  bool stays_out() { return thread_.falls_asleep() && !inside_; }

  void leave() {
    leaving_ = true;
    EXPECT_EQ(thread_.end(), 1) << name_;
  }

 private:
  rwlock& lock_;
  chronicle& all_;
  role what_;
  const char* name_;
  std::atomic<bool> inside_{false};
  std::atomic<bool> leaving_{false};
  helper_thread thread_;
};

TEST(phase_fair, a_reader_waits_for_the_writer_inside_and_for_none_of_those_that_queue) {
  rwlock lock;
  chronicle all;
  visitor r(lock, all, visitor::reads, "r");
  visitor w1(lock, all, visitor::writes, "w"), w2(lock, all, visitor::writes, "w"),
      w3(lock, all, visitor::writes, "w");
  ASSERT_EQ(test::lock(lock, phase_fair), test::acquired);
  for (visitor* writer : {&w1, &w2}) writer->arrive();
  r.arrive();
  w3.arrive();
  test::unlock(lock, phase_fair);
  EXPECT_TRUE(r.enters());
  EXPECT_EQ(all.text(), "r");
  r.leave();
  for (visitor* writer : {&w1, &w2, &w3}) writer->leave();
  EXPECT_EQ(all.text(), "rwww");
  test::expect_free(lock, phase_fair);
}

TEST(phase_fair, a_writer_is_not_passed_by_a_second_phase_of_readers) {
  rwlock lock;
  chronicle all;
  visitor r1(lock, all, visitor::reads, "r"), r2(lock, all, visitor::reads, "R");
  visitor w(lock, all, visitor::writes, "w"), next(lock, all, visitor::writes, "W");
  ASSERT_EQ(test::lock(lock, phase_fair), test::acquired);
  w.arrive();
  r1.arrive();
  test::unlock(lock, phase_fair);
  ASSERT_TRUE(r1.enters());
  EXPECT_EQ(lock.state.load() & rwlock::reader_phase, 0U) << "all that waited are in";
  r2.arrive();
  next.arrive();
  r1.leave();
  ASSERT_TRUE(w.enters());
  w.leave();
  ASSERT_TRUE(r2.enters());
  r2.leave();
  next.leave();
  EXPECT_EQ(all.text(), "rwRW");
  test::expect_free(lock, phase_fair);
}

TEST(phase_fair, all_readers_that_wait_get_in_together_between_two_writers) {
  rwlock lock;
  chronicle all;
  visitor readers[] = {{lock, all, visitor::reads, "r"},
                       {lock, all, visitor::reads, "r"},
                       {lock, all, visitor::reads, "r"},
                       {lock, all, visitor::reads, "r"}};
  visitor w(lock, all, visitor::writes, "w");
  ASSERT_EQ(test::lock(lock, phase_fair), test::acquired);
  w.arrive();
  for (visitor& reader : readers) reader.arrive();
  test::unlock(lock, phase_fair);
  for (visitor& reader : readers) EXPECT_TRUE(reader.enters());
  EXPECT_FALSE(w.is_inside());
  for (visitor& reader : readers) reader.leave();
  w.leave();
  EXPECT_EQ(all.text(), "rrrrw");
  test::expect_free(lock, phase_fair);
}

// The test counts a waiting reader that does not exist, which keeps the readers' phase open.
TEST(phase_fair, a_writer_stays_out_until_the_last_of_the_counted_readers_is_in) {
  rwlock lock;
  chronicle all;
  visitor w(lock, all, visitor::writes, "w");
  ASSERT_EQ(test::lock(lock, phase_fair), test::acquired);
  lock.state.fetch_add(rwlock::one_waiting_reader);
  w.arrive();
  test::unlock(lock, phase_fair);
  EXPECT_NE(lock.state.load() & rwlock::reader_phase, 0U);
  EXPECT_TRUE(w.stays_out());
  helper_thread newcomer;
  EXPECT_EQ(newcomer.call([&] { return test::lock_shared(lock, phase_fair); }), test::acquired)
      << "the turn is for all readers";
  EXPECT_FALSE(w.is_inside());
  std::uint64_t state = lock.state.load();
  while (
      !lock.state.compare_exchange_weak(state, rwlock::without_waiter(state, waits_as::reader))) {
  }
  EXPECT_EQ(lock.state.load() & rwlock::reader_phase, 0U);
  EXPECT_EQ(newcomer.call([&] { return test::unlock_shared(lock); }), 1);
  w.leave();
  test::expect_free(lock, phase_fair);
}

// Only a claim keeps a reader out that is inside already. The claim it meets is made by hand, and
// so is the writer that waits; the one whose end it hears of is real.
TEST(phase_fair, a_reader_inside_that_meets_a_claim_goes_on) {
  rwlock lock;
  test::keep_without_bias(lock);
  helper_thread reader;
  ASSERT_EQ(reader.call([&] { return test::lock_shared(lock, phase_fair); }), test::acquired);
  lock.state.fetch_or(rwlock::claiming | rwlock::one_writer);
  EXPECT_EQ(reader.call([&] { return test::lock_shared(lock, phase_fair); }), test::acquired);
  lock.state.fetch_sub(rwlock::claiming | rwlock::one_writer);
  for (int holds = 2; holds > 0; --holds) {
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
  }
  test::expect_free(lock, phase_fair);
}

TEST(phase_fair, does_not_keep_a_writer_out_that_only_tries_or_a_reader_that_upgrades) {
  rwlock lock;
  test::keep_without_bias(lock);
  test::write(lock, phase_fair);
  lock.state.fetch_add(rwlock::one_waiting_reader | rwlock::reader_phase);
  EXPECT_EQ(test::try_lock(lock, phase_fair), test::acquired);
  test::unlock(lock, phase_fair);
  EXPECT_EQ(test::lock_shared(lock, phase_fair), test::acquired);
  EXPECT_EQ(test::upgrade(lock, phase_fair), test::acquired);
  test::unlock(lock, phase_fair);
  EXPECT_EQ(lock.state.load(), rwlock::ready | rwlock::one_waiting_reader | rwlock::reader_phase);
}

TEST(phase_fair, a_reader_that_gives_up_leaves_no_turn_behind) {
  rwlock lock;
  chronicle all;
  visitor w(lock, all, visitor::writes, "w");
  helper_thread hasty;
  ASSERT_EQ(test::lock(lock, phase_fair), test::acquired);
  hasty.begin(
      [&] { return test::lock_shared(lock, test::hasty_rules(phase_fair, 500 * millisecond)); });
  EXPECT_TRUE(wait_until([&] { return readers_counted(lock) == 1; }));
  EXPECT_EQ(hasty.end(), test::timed_out);
  EXPECT_EQ(readers_counted(lock), 0U);
  w.arrive();
  test::unlock(lock, phase_fair);
  EXPECT_TRUE(w.enters());
  EXPECT_EQ(lock.state.load() & rwlock::reader_phase, 0U);
  w.leave();
  test::expect_free(lock, phase_fair);
}

TEST(phase_fair, lets_readers_and_writers_in_when_a_writer_that_waited_gives_up) {
  rwlock lock;
  test::keep_without_bias(lock);
  chronicle all;
  visitor r(lock, all, visitor::reads, "r");
  helper_thread holder, hasty;
  ASSERT_EQ(holder.call([&] { return test::lock_shared(lock, phase_fair); }), test::acquired);
  hasty.begin([&] { return test::lock(lock, test::hasty_rules(phase_fair, 300 * millisecond)); });
  ASSERT_TRUE(hasty.settles());
  r.arrive();
  EXPECT_EQ(hasty.end(), test::timed_out);
  EXPECT_TRUE(r.enters());
  r.leave();
  EXPECT_EQ(holder.call([&] { return test::unlock_shared(lock); }), 1);
  test::expect_free(lock, phase_fair);
}

TEST(phase_fair, downgrade_gives_the_waiting_readers_their_turn) {
  rwlock lock;
  chronicle all;
  visitor r(lock, all, visitor::reads, "r");
  visitor w(lock, all, visitor::writes, "w");
  ASSERT_EQ(test::lock(lock, phase_fair), test::acquired);
  w.arrive();
  r.arrive();
  downgrade(lock, phase_fair);
  EXPECT_TRUE(r.enters());
  EXPECT_FALSE(w.is_inside());
  r.leave();
  EXPECT_FALSE(w.is_inside());
  EXPECT_TRUE(test::unlock_shared(lock));
  w.leave();
  EXPECT_EQ(all.text(), "rw");
  test::expect_free(lock, phase_fair);
}

TEST(phase_fair, readers_that_got_their_turn_may_be_passive_again) {
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock, phase_fair));
  chronicle all;
  visitor r(lock, all, visitor::reads, "r");
  ASSERT_EQ(test::lock(lock, phase_fair), test::acquired);
  lock.balance.store(20'000);
  r.arrive();
  test::unlock(lock, phase_fair);
  EXPECT_TRUE(r.enters());
  EXPECT_TRUE(test::is_biased(lock));
  EXPECT_TRUE(wait_until([&] { return readers_counted(lock) == 0; }));
  EXPECT_EQ(lock.state.load(), rwlock::ready | rwlock::biased) << "the hold is a passive one";
  r.leave();
  test::expect_free(lock, phase_fair);
}

// The writer that waits is made by hand.
TEST(phase_fair, readers_that_got_their_turn_may_be_passive_before_a_writer) {
  for (const preference prefers : {preference::phase_fair, preference::writer}) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    ASSERT_TRUE(test::earn_bias(lock, how));
    helper_thread reader;
    ASSERT_EQ(test::lock(lock, how), test::acquired);
    reader.begin([&] { return test::lock_shared(lock, how); });
    ASSERT_TRUE(reader.falls_asleep());
    ASSERT_EQ(readers_counted(lock), 1U);
    lock.state.fetch_add(rwlock::one_writer);
    lock.balance.store(20'000);
    const bool have_cpus = test::threads_have_cpus();
    test::unlock(lock, how);
    const bool gets_turn = prefers == preference::phase_fair;
    if (gets_turn) {
      EXPECT_EQ(reader.end(), test::acquired);
    }
    EXPECT_EQ(test::is_biased(lock), gets_turn && have_cpus);
    lock.state.fetch_sub(rwlock::one_writer);
    if (!gets_turn) {
      test::write(lock, how);  // wakes the reader
      EXPECT_EQ(reader.end(), test::acquired);
    }
    EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
    test::expect_free(lock, how);
  }
}

// The counts have 12 bits; those beyond wait without being counted. Filled by hand.

TEST(waiting_counts, a_reader_beyond_the_last_that_can_be_counted_waits_and_gets_in) {
  rwlock lock;
  test::keep_without_bias(lock);
  helper_thread reader;
  ASSERT_EQ(test::lock(lock, phase_fair), test::acquired);
  lock.state.fetch_or(rwlock::waiting_readers);
  reader.begin([&] { return test::lock_shared(lock, phase_fair); });
  ASSERT_TRUE(reader.falls_asleep());
  EXPECT_EQ(lock.state.load() & ~rwlock::readers_parked,
            rwlock::ready | rwlock::writing | rwlock::waiting_readers);
  test::unlock(lock, phase_fair);
  EXPECT_EQ(reader.end(), test::acquired);
  EXPECT_EQ(lock.state.load(),
            rwlock::ready | rwlock::one_reader | rwlock::waiting_readers | rwlock::reader_phase);
  EXPECT_EQ(reader.call([&] { return test::unlock_shared(lock); }), 1);
}

TEST(waiting_counts, a_writer_beyond_the_last_that_can_be_counted_waits_and_gets_in) {
  for (const preference prefers : {preference::writer, preference::phase_fair}) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    test::keep_without_bias(lock);
    helper_thread writer;
    ASSERT_EQ(test::lock_shared(lock, how), test::acquired);
    lock.state.fetch_or(rwlock::waiting_writers);
    writer.begin([&] { return test::lock(lock, how); });
    ASSERT_TRUE(writer.falls_asleep());
    EXPECT_EQ(lock.state.load() & ~(rwlock::writers_parked | rwlock::handoff),
              rwlock::ready | rwlock::one_reader | rwlock::waiting_writers);
    EXPECT_TRUE(test::unlock_shared(lock));
    EXPECT_EQ(writer.end(), test::acquired);
    EXPECT_EQ(lock.state.load() & rwlock::waiting_writers, rwlock::waiting_writers);
    lock.state.fetch_and(~rwlock::waiting_writers);
    writer.call([&] { test::unlock(lock, how); });
    test::expect_free(lock, how);
  }
}

TEST(waiting_counts, an_upgrade_needs_no_room) {
  for (const preference prefers : {preference::writer, preference::phase_fair}) {
    SCOPED_TRACE(test::name_of(prefers));
    const rules how{.prefers = prefers};
    rwlock lock;
    helper_thread first, second;
    test::share(lock, first, test::hold::active, second, test::hold::active, how);
    lock.state.fetch_or(rwlock::waiting_writers);
    first.begin([&] { return test::upgrade(lock, how); });
    ASSERT_TRUE(first.falls_asleep());
    EXPECT_EQ(lock.state.load(), rwlock::ready | 2 * rwlock::one_reader | rwlock::waiting_writers |
                                     rwlock::upgrading | rwlock::upgrader_parked);
    EXPECT_EQ(second.call([&] { return test::upgrade(lock, how); }), test::busy);
    EXPECT_EQ(second.call([&] { return test::unlock_shared(lock); }), 1);
    EXPECT_EQ(first.end(), test::acquired);
    EXPECT_EQ(lock.state.load(), rwlock::ready | rwlock::writing | rwlock::waiting_writers);
    lock.state.fetch_and(~rwlock::waiting_writers);
    first.call([&] { test::unlock(lock, how); });
    test::expect_free(lock, how);
  }
}

}  // namespace
