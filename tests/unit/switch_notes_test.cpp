// SPDX-License-Identifier: Apache-2.0
// What the process believes of the kernel's notes of switches, which the test writes here in its
// place.
#include "threads/switch_notes.hpp"

#include <gtest/gtest.h>
#include <linux/futex.h>
#include <unistd.h>

#include <memory>
#include <readmost/lock_domain.hpp>

#include "support/helper_thread.hpp"
#include "support/processes.hpp"

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

TEST_F(switch_notes_test, child_has_no_help) {
  enlist();
  test::in_a_child([] {
    EXPECT_EQ(notes_of_switches.load(), nullptr);
    EXPECT_FALSE(is_switched_out(my_record()));
  });
}

}  // namespace
