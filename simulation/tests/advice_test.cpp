// SPDX-License-Identifier: Apache-2.0
// What `readmost advise` reads of a program's statistics, and what it chooses.
#include "simulation/advice/advice.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "simulation/advice/used_locks.hpp"
#include "simulation/workloads/workloads.hpp"

namespace readmost::simulation {
namespace {

class statistics_file : public testing::Test {
 protected:
  ~statistics_file() override { std::filesystem::remove(path_); }

  observed_program read(const std::string& text) {
    std::ofstream(path_) << text;
    return read_statistics(path_);
  }
  void expect_refused(const std::string& text, const std::string& words) {
    try {
      read(text);
      ADD_FAILURE() << "not refused: " << text;
    } catch (const std::runtime_error& problem) {
      EXPECT_NE(std::string(problem.what()).find(words), std::string::npos) << problem.what();
    }
  }

 private:
  // Tests of this fixture run side by side, each in a process of its own.
  const std::string path_ = testing::TempDir() + fmt::format("advice-{}.json", getpid());
};

std::string lock(const char* symbol, int offset, int reads, int writes) {
  return fmt::format(
      R"({{"lock":"0x10","place":{{"symbol":{},"symbol_offset":{},"mapping":"prog","offset":1}},)"
      R"("reads":{{"passive":{},"active":1}},"writes":{},)"
      R"("waits":{{"readers":{{"total":0}},"writers":{{"total":0}}}}}})",
      symbol, offset, reads, writes);
}
std::string line(const char* program, int reads, const std::string& locks) {
  return fmt::format(
      R"({{"program":"{}","seconds":2.0,"reads":{{"passive":{},"active":0}},"writes":0,"hottest":[{}]}})"
      "\n",
      program, reads, locks);
}

TEST_F(statistics_file, tells_of_the_process_that_used_its_locks_most_and_its_locks_in_order) {
  const observed_program found =
      read(line("small", 10, lock("null", 0, 10, 0)) +
           line("large", 900, lock("null", 0, 5, 1) + "," + lock("\"cache\"", 8, 800, 90)) +
           line("other", 20, lock("null", 0, 20, 0)));
  EXPECT_EQ(found.name, "large");
  EXPECT_EQ(found.seconds, 2);
  ASSERT_EQ(found.locks.size(), 2U);
  EXPECT_EQ(found.locks[0].name, "cache+8");
  EXPECT_EQ(found.locks[0].reads, 801U);
  EXPECT_EQ(found.locks[0].writes, 90U);
  EXPECT_EQ(found.locks[1].name, "0x10 in prog");
}

TEST_F(statistics_file, that_is_none_is_refused_with_its_line) {
  expect_refused("", "tells of no lock");
  expect_refused("rubbish", "line 1, is no statistics");
  expect_refused(line("fine", 1, lock("null", 0, 1, 0)) + "{}\n[1]\n{\"hottest\":3}", "line 4");
  EXPECT_THROW(read_statistics("/no/such/file"), std::runtime_error);
}

std::vector<outcome_range> ranges(std::initializer_list<double> medians) {
  std::vector<outcome_range> made;
  for (const double each : medians) made.push_back({each * 0.95, each, each * 1.05});
  return made;
}

TEST(advice, is_what_asks_least_among_the_nearly_best) {
  EXPECT_EQ(choose(ranges({10, 10.5, 10, 5, 10, 10.9}), 6).chosen, 0U);
  EXPECT_EQ(choose(ranges({1, 9.5, 10, 5, 10, 10}), 6).chosen, 1U);
  EXPECT_EQ(choose(ranges({1, 8, 10, 5, 10, 100}), 6).chosen, 5U);
  EXPECT_EQ(choose(ranges({1, 8, 10, 5, 10, 100}), without_changes).chosen, 2U);
}

TEST(advice, is_open_where_the_ranges_overlap) {
  std::vector<outcome_range> outcomes = ranges({1, 10, 10, 5, 10, 10});
  EXPECT_FALSE(choose(outcomes, 6).is_open);
  outcomes[0].most = 9.6;
  EXPECT_TRUE(choose(outcomes, 6).is_open);
  EXPECT_FALSE(choose(ranges({10, 1, 1, 1, 1, 1}), 6).is_open);
}

TEST(advice, has_alternatives_that_can_be_simulated) {
  EXPECT_GT(all_alternatives().size(), without_changes);
  for (const alternative& each : all_alternatives()) {
    const workload& what = find_workload(each.workload);
    if (what.subject.empty()) find_contender(each.lock);
  }
  const outcome_range range = range_of({3, 1, 2});
  EXPECT_EQ(range.least, 1);
  EXPECT_EQ(range.median, 2);
  EXPECT_EQ(range.most, 3);
}

}  // namespace
}  // namespace readmost::simulation
