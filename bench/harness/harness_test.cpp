// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "harness/benchmark.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

TEST(turn, is_printed_as_json) {
  bench::figures found;
  found.less_is_better("Latency", "median", "ns", 10);
  found.neutral("Latency", "measured", "times", 3);
  found.point("Throughput", 0.5, "more", "per second", 7);
  const auto turn = nlohmann::json::parse(bench::json_of_turn("ours", found));
  EXPECT_EQ(turn["contender"], "ours");
  EXPECT_GT(turn["clock_ns"], 0);
  const nlohmann::json expected = {
      {{"table", "Latency"}, {"name", "median"}, {"unit", "ns"}, {"better", "less"}, {"value", 10}},
      {{"table", "Latency"},
       {"name", "measured"},
       {"unit", "times"},
       {"better", "neither"},
       {"value", 3}},
      {{"table", "Throughput"},
       {"name", "0.5"},
       {"unit", "per second"},
       {"better", "more"},
       {"value", 7},
       {"x", 0.5}}};
  EXPECT_EQ(turn["rows"], expected);
}

struct contender {
  std::string name;
  double value;
};

TEST(benchmark, measures_the_named_contender) {
  const std::vector<contender> all{{"a", 1}, {"b", 2}};
  const bench::benchmark made = bench::benchmark_of(
      "of numbers", all, [](const contender& one, bench::effort, bench::figures& found) {
        found.more_is_better("Number", "value", "1", one.value);
      });
  EXPECT_EQ(made.contenders, (std::vector<std::string>{"a", "b"}));
  bench::figures found;
  made.measure("b", {}, found);
  ASSERT_EQ(found.rows().size(), 1U);
  EXPECT_EQ(found.rows()[0].value, 2);
}

bench::effort given(const std::string& arguments) {
  bench::effort much;
  CLI::App app{"a program"};
  much.add_to(app);
  app.parse(arguments);
  return much;
}

TEST(effort, chooses_the_time_and_the_numbers_of_threads) {
  EXPECT_EQ(given("").point(1s), 1s);
  EXPECT_LE(given("--quick").point(1s), 50ms);
  EXPECT_EQ(given("").counts(), (std::vector<unsigned>{1, 2, 4, 8}));
  EXPECT_EQ(given("--quick").counts(), (std::vector<unsigned>{1, 8}));

  EXPECT_EQ(given("--seconds 0.25").point(1s), 250ms);
  EXPECT_EQ(given("--quick --seconds 0.25").point(1s), 250ms);
  EXPECT_EQ(given("--quick --threads 7").counts(), std::vector<unsigned>{7});

  EXPECT_THROW(given("--seconds nan"), CLI::ParseError);
  EXPECT_THROW(given("--seconds 0"), CLI::ParseError);
  EXPECT_THROW(given("--threads 0"), CLI::ParseError);
}

TEST(percentiles, are_the_smallest_values_that_so_many_do_not_exceed) {
  bench::percentiles hundred;
  for (int i = 100; i >= 1; --i) hundred.add_ns(i);
  EXPECT_EQ(hundred.at(0), 1);
  EXPECT_EQ(hundred.median(), 50);
  EXPECT_EQ(hundred.p99(), 99);
  EXPECT_EQ(hundred.highest(), 100);
  hundred.add_ns(1000);
  EXPECT_EQ(hundred.highest(), 1000);
  EXPECT_EQ(hundred.count(), 101U);
}

TEST(percentiles, of_nothing_are_refused) {
  bench::percentiles none;
  EXPECT_THROW(none.median(), std::logic_error);
}

TEST(timed_run, adds_up_by_thread) {
  const bench::timed_outcome outcome{{1, 2, 4}, 0.5};
  EXPECT_EQ(outcome.total(), 7U);
  EXPECT_EQ(outcome.sum(1, 3), 6U);
  EXPECT_EQ(outcome.per_second(outcome.total()), 14);
}

TEST(timed_run, tells_its_threads_when_the_time_is_up) {
  const auto begin = clock::now();
  const bench::timed_body wait = [](const std::atomic<bool>& stopped) -> std::uint64_t {
    while (!stopped) sched_yield();
    return 1;
  };
  const auto outcome = bench::run_together({wait, wait, wait}, 30ms);
  EXPECT_GE(clock::now() - begin, 30ms);
  EXPECT_GE(outcome.seconds, 0.03);
  EXPECT_EQ(outcome.total(), 3U);
}

TEST(timed_run, ends_early_with_the_error_of_a_thread) {
  const auto begin = clock::now();
  EXPECT_THROW(
      bench::run_together({[](const auto& stopped) -> std::uint64_t {
                             while (!stopped) sched_yield();
                             return 1;
                           },
                           [](const auto&) -> std::uint64_t { throw std::runtime_error("wrong"); }},
                          300s),
      std::runtime_error);
  EXPECT_LT(clock::now() - begin, 100s);
}

}  // namespace
