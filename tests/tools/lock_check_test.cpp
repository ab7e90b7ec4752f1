// SPDX-License-Identifier: Apache-2.0
// READMOST_LOCK_CHECK: each misuse of locks is named, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "run.hpp"

namespace {

using readmost::tools_test::outcome;
using readmost::tools_test::run;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

outcome misuse(const std::string& name, const std::string& setting) {
  return run("LD_PRELOAD='" READMOST_REAL_LIBRARY "' READMOST_LOCK_CHECK=" + setting +
             " '" READMOST_MISUSED_PROGRAM "' " + name);
}

std::size_t reports_in(const std::string& text) {
  std::istringstream lines(text);
  std::size_t reports = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("readmost: ")) ++reports;
  }
  return reports;
}

struct planted {
  std::string name;
  std::string title;
  std::vector<std::string> parts;  // in this order: locks, functions of both backtraces
};

void PrintTo(const planted& each, std::ostream* to) {
  *to << each.name;
}

class lock_check : public testing::TestWithParam<planted> {};

// Noticed: a check that is left out, one report too many, a backtrace that does not begin at the
// caller.
TEST_P(lock_check, names_it_once) {
  const outcome result = misuse(GetParam().name, "1");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(reports_in(result.text), 1U) << result.text;
  EXPECT_THAT(result.text, HasSubstr("readmost: " + GetParam().title + "\n"));
  std::size_t from = 0;
  for (const std::string& part : GetParam().parts) {
    from = result.text.find(part, from);
    ASSERT_NE(from, std::string::npos) << part << " is missing, or not in order, in\n"
                                       << result.text;
  }
  EXPECT_LT(result.text.size(), 4096U) << "a pipe takes a longer report in several pieces";
}

TEST_P(lock_check, ends_the_process_if_asked) {
  const outcome result = misuse(GetParam().name, "abort");
  EXPECT_EQ(result.status, -1);
  EXPECT_THAT(result.text, HasSubstr("readmost: " + GetParam().title));
}

const char* const deadlock =
    "a write lock of a lock that the thread holds already: it waits for itself";
const char* const orders =
    "locks are taken in opposite orders: threads that do so at once wait for each other";
const char* const nobody = "a lock is unlocked that nobody holds";
const char* const gone = "a lock is destroyed, or made anew, while it is held";

INSTANTIATE_TEST_SUITE_P(
    every, lock_check,
    testing::Values(
        planted{"unlock_without_hold", nobody, {"first_lock", "called in stop_sharing_first"}},
        planted{"write_unlock_without_hold", nobody, {"first_lock", "called in give_first"}},
        planted{"refused_unlock", nobody, {"refused_unlock"}},
        planted{"pthread_unlock_without_hold", nobody, {"rwlock", "pthread_unlock_without_hold"}},
        planted{"unlock_of_others_hold",
                "a lock is unlocked by a thread that does not hold it",
                {"called in stop_sharing_first", "held by thread", "taken in share_first"}},
        planted{"unlock_of_other_kind",
                "a lock is unlocked as if it were held otherwise",
                {"unlocking for reading", "stop_sharing_first", "for writing", "take_first"}},
        planted{"write_while_reading", deadlock, {"called in take_first", "taken in share_first"}},
        planted{"write_while_writing", deadlock, {"called in take_first", "taken in take_first"}},
        planted{"pthread_self_deadlock", deadlock, {"rwlock", "for writing"}},
        planted{"read_while_writing",
                "a read lock of a lock that the thread holds for writing: it waits for itself",
                {"called in share_first", "taken in take_first"}},
        planted{"pthread_nested_read",
                "a nested read lock of a lock whose kind is not recursive: it waits for itself if "
                "a writer has come in between",
                {"for reading"}},
        planted{"upgrade_without_hold",
                "an upgrade by a thread that does not hold the lock for reading",
                {"first_lock", "upgrade_without_hold"}},
        planted{"inversion",
                orders,
                {"first_lock", "called in take_first", "second_lock", "taken in take_second",
                 "before that, thread", "second_lock", "called in take_second", "first_lock",
                 "taken in take_first"}},
        planted{"inversion_of_readers", orders, {"share_first", "share_second"}},
        planted{"inversion_of_three", orders, {"first_lock", "third_lock", "second_lock"}},
        planted{"pthread_inversion", orders, {"rwlock", "other_rwlock"}},
        planted{
            "destroyed_while_held", gone, {"destroying", "for reading", "destroyed_while_held"}},
        planted{"pthread_destroyed_while_held", gone, {"rwlock", "for reading"}},
        planted{"reuse_while_held", gone, {"first use of a new lock", "reuse_while_held"}},
        planted{"unmapped_while_held",
                "the memory of a lock has been unmapped while it is held",
                {"not mapped", "for writing", "taken in", "unmapped_while_held"}},
        planted{"exit_while_holding",
                "a thread ends while it holds a lock",
                {"first_lock", "for reading", "taken in share_first"}}),
    [](const auto& each) { return each.param.name; });

// Noticed: an order between read locks that keep nobody out, between locks that are only tried, or
// with a lock that no longer exists.
TEST(lock_check_of_correct_programs, is_silent) {
  for (const char* name : {"correct", "correct_readers"}) {
    const outcome result = misuse(name, "abort");
    EXPECT_EQ(result.status, 0) << name;
    EXPECT_THAT(result.text, IsEmpty()) << name;
  }
}

TEST(lock_check_settings, misuse_is_not_looked_for_unless_asked) {
  for (const char* setting : {"0", ""}) {
    const outcome result = misuse("inversion", setting);
    EXPECT_EQ(result.status, 0) << setting;
    EXPECT_THAT(result.text, IsEmpty()) << setting;
  }
}

TEST(lock_check_settings, an_unknown_value_gets_one_line) {
  const outcome result = misuse("inversion", "yes");
  EXPECT_EQ(result.status, 0);
  // The program and the preloaded library have one copy of the check each.
  EXPECT_THAT(result.text, HasSubstr("readmost: READMOST_LOCK_CHECK=yes is not known; it can be 0, "
                                     "1 or abort. Using 0.\n"));
  const outcome without = run("READMOST_LOCK_CHECK=yes '" READMOST_MISUSED_PROGRAM "' inversion");
  EXPECT_EQ(without.text,
            "readmost: READMOST_LOCK_CHECK=yes is not known; it can be 0, 1 or abort. Using 0.\n");
}

}  // namespace
