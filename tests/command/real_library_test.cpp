// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

namespace readmost::command_test {
namespace {

using ::testing::UnorderedElementsAre;

// Tests the command together with its own library.
class real_library : public real_command {};

TEST_F(real_library, is_found_where_the_build_puts_it) {
  const ending end = readmost({"run", "--", "cat", "/proc/self/maps"});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out, HasSubstr(READMOST_REAL_LIBRARY));
}

TEST_F(real_library, counts_the_program_s_locks_in_the_statistics_file) {
  const ending end = readmost({"run", "--stats=stats.json", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "writes: 10\n");
  const json stats = read_json("stats.json");
  EXPECT_EQ(stats["lock"], "prwlock");
  EXPECT_EQ(stats["pid"], end.pid);
  EXPECT_EQ(stats["writes"], 10);
  EXPECT_EQ(stats["reads"]["passive"].get<long>() + stats["reads"]["active"].get<long>(), 2000);
}

TEST_F(real_library, prints_the_statistics_on_stderr) {
  const ending end = readmost({"run", "--stats", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.out, "writes: 10\n");
  EXPECT_NE(end.err, "");
}

// The command has read the same variables.
TEST_F(real_library, tells_of_a_wrong_setting_once) {
  environment.insert(
      environment.end(),
      {"READMOST_RCU_CHECK=maybe", "READMOST_RCU_THREAD=two", "READMOST_RCU_SECTION_LIMIT=s",
       "READMOST_RCU_STALL_LIMIT=-1", "READMOST_SCHEDULER_NOTES=4x", "READMOST_STATS_BACKTRACE=no",
       "READMOST_PREFER=me", "READMOST_LOCK_CHECK=2"});
  const ending end = readmost({"run", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(end.out, "writes: 10\n");
  std::vector<std::string> told;
  std::istringstream lines(end.err);
  for (std::string line; std::getline(lines, line);) told.push_back(line);
  EXPECT_THAT(
      told,
      UnorderedElementsAre(
          "readmost: READMOST_RCU_CHECK=maybe is not known; it can be 0, 1 or abort. Using 0.",
          "readmost: READMOST_RCU_THREAD=two is not known; it can be 0 or 1. Using 1.",
          "readmost: READMOST_RCU_SECTION_LIMIT=s is no number of milliseconds. Using 1000.",
          "readmost: READMOST_RCU_STALL_LIMIT=-1 is no number of milliseconds. Using 10000.",
          "readmost: READMOST_SCHEDULER_NOTES=4x is no number; it is for 'readmost-scheduled' to "
          "set. Ignored.",
          "readmost: READMOST_STATS_BACKTRACE=no is not known; it can be 0 or 1. Using 0.",
          "readmost: READMOST_PREFER=me is not known; it can be kind, reader, writer or "
          "phase-fair. Using kind.",
          "readmost: READMOST_LOCK_CHECK=2 is not known; it can be 0, 1 or abort. Using 0."));
}

TEST_F(real_library, passes_calls_on_when_asked) {
  const ending end =
      readmost({"run", "--lock", "pthread", "--stats=stats.json", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_EQ(end.out, "writes: 10\n");
  EXPECT_EQ(read_json("stats.json")["lock"], "pthread");
}

TEST_F(real_library, is_compared_with_glibc) {
  const ending end =
      readmost({"compare", "--runs", "2", "--locks", "glibc,pthread,prwlock", "--metric",
                "writes: ([0-9]+)", "--json", "result.json", "--", READMOST_RWLOCK_PROGRAM});
  EXPECT_EQ(end.code, 0) << end.err;
  for (const json& lock : read_json("result.json")["locks"]) {
    EXPECT_EQ(lock["values"], json({10, 10})) << lock;
  }
}

}  // namespace
}  // namespace readmost::command_test
