#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "comparison_detail.hpp"

namespace {

nlohmann::json turn_of(const std::string& contender, double latency, double rate) {
  bench::figures found;
  found.less_is_better("Latency", "median", "ns", latency);
  found.more_is_better("Throughput", "updates", "per second", rate);
  found.told("Latency", "measured", "times", 3);
  return {{"contender", contender},
          {"clock_ns", 20},
          {"rows", bench::comparison_detail::rows_of(found)}};
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

TEST(comparison, keeps_the_place_of_a_point_on_its_axis) {
  const auto turn = [](double value) -> nlohmann::json {
    bench::figures found;
    found.point("Throughput", 4, "more", "per second", value);
    found.point("Throughput", 0.5, "more", "per second", value);
    return {{"contender", "ours"},
            {"clock_ns", 20},
            {"rows", bench::comparison_detail::rows_of(found)}};
  };
  const nlohmann::json rows = bench::comparison_detail::gather({turn(1), turn(2)});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(row_of(rows, "ours", "4")["x"], 4);
  EXPECT_EQ(row_of(rows, "ours", "4")["better"], "more");
  EXPECT_EQ(row_of(rows, "ours", "4")["values"], (nlohmann::json{1, 2}));
  EXPECT_EQ(row_of(rows, "ours", "0.5")["x"], 0.5);
}

// A program's own options, as a comparison adds them.
struct options {
  bench::seconds_option seconds;
  bench::threads_option threads;
  std::string name;
  bool shared = false;
  bool loud = false;
  CLI::App app{"a program"};
  std::size_t common = 0;

  explicit options(const std::string& arguments) {
    app.add_flag("--common", shared, "not one of the program's own");
    common = app.get_options().size();
    seconds.add_to(app);
    threads.add_to(app);
    app.add_option("--name", name, "a text");
    app.add_flag("--loud", loud, "a flag");
    app.parse(arguments);
  }
};

TEST(comparison, hands_a_programs_own_options_on_as_they_were_given) {
  const auto handed_on = [](const std::string& arguments) {
    const options given(arguments);
    return bench::comparison_detail::given_options(given.app, given.common);
  };
  EXPECT_EQ(handed_on(""), "");
  EXPECT_EQ(handed_on("--common"), "");
  EXPECT_EQ(handed_on("--seconds 0.25 --common --loud"), " --seconds '0.25' --loud");
  EXPECT_EQ(handed_on("--threads 1 2 4 --name \"it's\""),
            " --threads '1' '2' '4' --name 'it'\\''s'");

  const options again(handed_on("--threads 3 5 --seconds 0.25 --loud"));
  EXPECT_EQ(again.threads.counts({}), (std::vector<unsigned>{3, 5}));
  EXPECT_TRUE(again.loud);
}

TEST(comparison, measures_for_as_long_and_in_as_many_threads_as_it_is_told) {
  using namespace std::chrono_literals;
  const options usual("");
  EXPECT_EQ(usual.seconds.point({}, 1s), 1s);
  EXPECT_LE(usual.seconds.point({true}, 1s), 50ms);
  EXPECT_EQ(usual.threads.counts({}), (std::vector<unsigned>{1, 2, 4, 8}));
  EXPECT_EQ(usual.threads.counts({true}), (std::vector<unsigned>{1, 8}));

  const options told("--seconds 0.25 --threads 7");
  EXPECT_EQ(told.seconds.point({}, 1s), 250ms);
  EXPECT_EQ(told.seconds.point({true}, 1s), 250ms);
  EXPECT_EQ(told.threads.counts({true}), std::vector<unsigned>{7});

  EXPECT_THROW(options("--seconds nan"), CLI::ParseError);
  EXPECT_THROW(options("--seconds 0"), CLI::ParseError);
  EXPECT_THROW(options("--threads 0"), CLI::ParseError);
}

}  // namespace
