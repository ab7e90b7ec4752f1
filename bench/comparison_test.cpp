#include "comparison.hpp"

#include <gtest/gtest.h>

namespace {

nlohmann::json turn_of(const std::string& contender, double latency, double rate) {
  bench::figures found;
  found.less_is_better("Latency", "median", "ns", latency);
  found.more_is_better("Throughput", "updates", "per second", rate);
  found.told("Latency", "measured", "times", 3);
  return {{"contender", contender}, {"clock_ns", 20}, {"rows", found.rows()}};
}

const nlohmann::json& row_of(const nlohmann::json& rows, const char* contender, const char* name) {
  for (const nlohmann::json& row : rows) {
    if (row["contender"] == contender && row["name"] == name) return row;
  }
  throw std::logic_error("there is no such row");
}

TEST(comparison, gathers_the_turns_and_tells_how_much_better_ours_is) {
  nlohmann::json rows = bench::comparison_detail::gather(
      {turn_of("ours", 10, 100), turn_of("other", 20, 50), turn_of("other", 60, 100),
       turn_of("ours", 20, 100), turn_of("ours", 30, 300), turn_of("other", 30, 100)});
  bench::comparison_detail::summarize(rows, "ours");
  ASSERT_EQ(rows.size(), 6U);

  const nlohmann::json& ours = row_of(rows, "ours", "median");
  EXPECT_EQ(ours["values"], (nlohmann::json{10, 20, 30}));
  EXPECT_EQ(ours["median"], 20);
  EXPECT_EQ(ours["lowest"], 10);
  EXPECT_EQ(ours["highest"], 30);
  EXPECT_FALSE(ours.contains("readmost_times_as_good"));

  // Turn by turn: 2, 3 and 1 times as short; 2, 1 and 3 times as many.
  const nlohmann::json expected{{"median", 2}, {"lowest", 1}, {"highest", 3}};
  EXPECT_EQ(row_of(rows, "other", "median")["readmost_times_as_good"], expected);
  EXPECT_EQ(row_of(rows, "other", "updates")["readmost_times_as_good"], expected);
  EXPECT_FALSE(row_of(rows, "other", "measured").contains("readmost_times_as_good"));
}

TEST(comparison, measures_less_when_it_is_quick) {
  const bench::effort full;
  EXPECT_EQ(full.times(1000), 1000U);
  EXPECT_EQ(full.time(std::chrono::seconds(1)), std::chrono::seconds(1));
  const bench::effort quick{true};
  EXPECT_EQ(quick.times(1000), 10U);
  EXPECT_EQ(quick.times(10), 3U);
  EXPECT_LE(quick.time(std::chrono::seconds(1)), std::chrono::milliseconds(50));
}

}  // namespace
