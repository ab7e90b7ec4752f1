// SPDX-License-Identifier: Apache-2.0
// What the process believes of the kernel's notes of switches, which the test writes here in its
// place.
#include "threads/switch_notes.hpp"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <unistd.h>

#include <memory>
#include <readmost/detail/rcu/grace_period.hpp>
#include <readmost/lock_domain.hpp>
#include <readmost/rcu.hpp>

#include "statistics/statistics.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"
#include "support/surface.hpp"

namespace {

using namespace readmost::detail;
using test::helper_thread;

class switch_notes_test : public testing::Test {
 protected:
  switch_notes_test() : pages_(std::make_unique<switch_notes>()) {
    pages_->holder().store(static_cast<std::uint32_t>(getpid()));
    notes_of_switches.store(pages_.get());
  }
  ~switch_notes_test() override { notes_of_switches.store(nullptr); }

  // Of a thread that has its record since now.
  static thread_record& record_of(helper_thread& thread) {
    thread_record* record = nullptr;
    thread.call([&] { record = enlist(); });
    return *record;
  }

  static std::uint32_t number(const thread_record& record) {
    return static_cast<std::uint32_t>(record.note.load());
  }
  static std::uint64_t period(const thread_record& record) { return record.note.load() >> 32; }

  void note(const thread_record& record, std::uint64_t of_period, bool out) {
    pages_->notes[number(record)].state.store(of_period << 1 | (out ? 1 : 0));
  }

  switch_notes& pages() { return *pages_; }

 private:
  std::unique_ptr<switch_notes> pages_;
};

TEST_F(switch_notes_test, thread_is_switched_out_while_the_note_says_so) {
  helper_thread thread;
  const thread_record& record = record_of(thread);
  EXPECT_FALSE(is_switched_out(record));
  note(record, period(record), true);
  EXPECT_TRUE(is_switched_out(record));
  note(record, period(record), false);
  EXPECT_FALSE(is_switched_out(record));
}

TEST_F(switch_notes_test, threads_have_notes_of_their_own) {
  helper_thread one;
  helper_thread other;
  const thread_record& first = record_of(one);
  const thread_record& second = record_of(other);
  ASSERT_NE(number(first), 0U);
  ASSERT_NE(number(second), 0U);
  EXPECT_NE(number(first), number(second));
  EXPECT_EQ(note_of_switches(first), &pages().notes[number(first)]);
}

TEST_F(switch_notes_test, note_of_an_earlier_thread_with_the_record_is_not_believed) {
  const thread_record* before = nullptr;
  std::uint64_t its_period = 0;
  {
    helper_thread thread;
    before = &record_of(thread);
    its_period = period(*before);
    note(*before, its_period, true);
  }
  helper_thread thread;
  const thread_record& record = record_of(thread);
  ASSERT_EQ(&record, before);  // the lowest free one
  EXPECT_EQ(pages().notes[number(record)].state.load(), 0U);
  // The kernel switches the exiting thread for the last time.
  note(record, its_period, true);
  EXPECT_FALSE(is_switched_out(record));
  note(record, period(record), true);
  EXPECT_TRUE(is_switched_out(record));
}

TEST_F(switch_notes_test, nothing_is_believed_once_nobody_holds_the_notes) {
  helper_thread thread;
  const thread_record& record = record_of(thread);
  note(record, period(record), true);
  pages().holder().store(FUTEX_OWNER_DIED);
  EXPECT_FALSE(is_switched_out(record));
  pages().holder().store(0);
  EXPECT_FALSE(is_switched_out(record));
}

TEST_F(switch_notes_test, records_of_other_domains_have_none) {
  readmost::lock_domain domain;
  helper_thread thread;
  thread.call([&] {
    readmost::domain_shared_mutex lock(domain);
    lock.lock_shared();
    lock.unlock_shared();
    for_each_own_record([](const thread_record& mine) {
      EXPECT_EQ(note_of_switches(mine) == nullptr, chunk_of(mine).domain != 0);
    });
  });
}

TEST_F(switch_notes_test, pages_are_for_one_copy_of_the_library_in_each_program) {
  const auto fresh = std::make_unique<switch_notes>();
  if (!use_switch_notes(*fresh)) return;  // a C library without restartable sequences
  EXPECT_FALSE(use_switch_notes(*fresh));
  // Another program in the same process, before.
  ++fresh->header.program;
  fresh->notes[1].state.store(3);
  EXPECT_TRUE(use_switch_notes(*fresh));
  EXPECT_EQ(fresh->notes[1].state.load(), 0U);
}

TEST_F(switch_notes_test, child_has_no_help) {
  enlist();
  test::in_a_child([] {
    EXPECT_EQ(notes_of_switches.load(), nullptr);
    EXPECT_FALSE(is_switched_out(my_record()));
  });
}

// What rounds conclude from the notes. The threads here wait for the test all the while, so that
// the kernel could have noted so.
class rounds_with_notes : public switch_notes_test {
 protected:
  // A thread that is online and has not reported the versions to come.
  thread_record& bring_online(helper_thread& thread) {
    thread_record& record = record_of(thread);
    thread.call([] { come_online(my_record()); });
    return record;
  }

  void note_out(const thread_record& record) { note(record, period(record), true); }

  static participation mode_of(const thread_record& record) {
    return participation_of(record.mode.load());
  }

  static readmost::detail::round run_round() { return reach_consensus(default_domain, enlist()); }

  static std::uint64_t membarriers() { return collect_statistics().rounds_by_membarrier; }
};

TEST_F(rounds_with_notes, thread_that_is_switched_out_takes_no_membarrier_and_is_put_to_rest) {
  helper_thread thread;
  const thread_record& record = bring_online(thread);
  note_out(record);
  const std::uint64_t before = membarriers();
  const readmost::detail::round first = run_round();
  EXPECT_NE(first.version, 0U);
  EXPECT_EQ(first.kind, round_kind::reports);
  EXPECT_EQ(mode_of(record), participation::dormant);
  EXPECT_EQ(run_round().version, 0U) << "no second round for it";
  EXPECT_EQ(membarriers(), before);
}

TEST_F(rounds_with_notes, thread_that_runs_takes_one) {
  helper_thread out;
  helper_thread in;
  const thread_record& other = bring_online(out);
  const thread_record& record = bring_online(in);
  note_out(other);
  note(record, period(record), false);
  EXPECT_EQ(run_round().kind, round_kind::membarrier);
  EXPECT_EQ(mode_of(record), participation::dormant);
  EXPECT_EQ(mode_of(other), participation::dormant);
}

TEST_F(rounds_with_notes, thread_that_a_round_has_told_to_stop_is_passed_too) {
  helper_thread thread;
  thread_record& record = bring_online(thread);
  record.mode.store((record.mode.load() & ~participation_mask) |
                    static_cast<std::uint32_t>(participation::leaving));
  note_out(record);
  EXPECT_EQ(run_round().kind, round_kind::reports);
  EXPECT_EQ(mode_of(record), participation::dormant);
}

TEST_F(rounds_with_notes, note_without_a_keeper_saves_no_membarrier) {
  helper_thread thread;
  const thread_record& record = bring_online(thread);
  note_out(record);
  pages().holder().store(FUTEX_OWNER_DIED);
  EXPECT_EQ(run_round().kind, round_kind::membarrier);
}

TEST_F(rounds_with_notes, thread_that_is_passed_comes_online_again) {
  helper_thread thread;
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  const thread_record& record = bring_online(thread);
  note_out(record);
  EXPECT_EQ(run_round().kind, round_kind::reports);
  note(record, period(record), false);
  thread.call([&] { EXPECT_EQ(test::lock_shared(lock), test::acquired); });
  EXPECT_EQ(mode_of(record), participation::online);
  EXPECT_EQ(test::try_lock(lock), test::busy);
  thread.call([&] { EXPECT_EQ(test::unlock_shared(lock), 1); });
}

TEST_F(rounds_with_notes, writer_waits_for_a_holder_that_is_switched_out) {
  helper_thread thread;
  rwlock lock;
  ASSERT_TRUE(test::earn_bias(lock));
  const thread_record& record = record_of(thread);
  thread.call([&] {
    EXPECT_EQ(test::lock_shared(lock), test::acquired);
    EXPECT_TRUE(test::holds_passively(lock));
  });
  note_out(record);
  const std::uint64_t before = membarriers();
  EXPECT_EQ(test::try_lock(lock), test::busy);
  EXPECT_EQ(membarriers(), before);
  note(record, period(record), false);
  thread.call([&] { EXPECT_EQ(test::unlock_shared(lock), 1); });
  EXPECT_EQ(test::try_lock(lock), test::acquired);
  test::unlock(lock);
}

TEST_F(rounds_with_notes, grace_period_waits_for_a_section_that_is_switched_out) {
  helper_thread thread;
  const thread_record& record = bring_online(thread);
  thread.call([] { readmost::rcu_default_domain().lock(); });
  note_out(record);
  const std::uint64_t before = default_domain.grace_periods_by_membarrier.load();
  const std::uint64_t wanted = grace_period_from_now(default_domain);
  EXPECT_FALSE(try_advance(default_domain, wanted));
  EXPECT_EQ(default_domain.grace_periods_by_membarrier.load(), before);
  note(record, period(record), false);
  thread.call([] { readmost::rcu_default_domain().unlock(); });
  EXPECT_TRUE(try_advance(default_domain, wanted));
  EXPECT_EQ(default_domain.grace_periods_by_membarrier.load(), before);
}

}  // namespace
