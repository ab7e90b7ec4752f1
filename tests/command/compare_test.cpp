#include <pty.h>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

class compare : public command {
 protected:
  // Records the lock under which it runs in a file and prints predetermined numbers.
  void SetUp() override {
    script("bench",
           "case \"$LD_PRELOAD\" in *test_library*) lock=$READMOST_LOCK ;; *) lock=glibc ;; esac\n"
           "echo $lock >>order\n"
           "round=$(grep -c \"^$lock$\" order)\n"
           "case $lock in\n"
           "  glibc) n=$((100 * round)) ;;\n"
           "  prwlock) n=$((250 * round + 50 * (round == 3))) ;;\n"
           "  pthread) n=$((50 * round)) ;;\n"
           "esac\n"
           "echo speed: $n ops >&2\n");
  }

  json compare_json(words options) {
    options.insert(options.begin(), {"compare", "--json", "result.json"});
    options.insert(options.end(), {"--", "./bench", "two words"});
    const ending end = readmost(options);
    EXPECT_EQ(end.code, 0) << end.err;
    table = end.out;
    return read_json("result.json");
  }

  std::string table;
};

TEST_F(compare, takes_the_median_of_the_ratios_within_rounds) {
  const json result = compare_json({"--runs", "3", "--metric", "speed: ([0-9]+)"});
  const json& glibc = result["locks"][0];
  const json& prwlock = result["locks"][1];
  EXPECT_EQ(glibc["lock"], "glibc");
  EXPECT_EQ(prwlock["lock"], "prwlock");
  EXPECT_EQ(glibc["values"], json({100, 200, 300}));
  EXPECT_EQ(prwlock["values"], json({250, 500, 800}));
  EXPECT_EQ(prwlock["value"], json({{"median", 500}, {"min", 250}, {"max", 800}}));
  EXPECT_EQ(prwlock["ratio"]["median"], 2.5);
  EXPECT_EQ(prwlock["ratio"]["min"], 2.5);
  EXPECT_NEAR(prwlock["ratio"]["max"].get<double>(), 800.0 / 300.0, 1e-12);
  EXPECT_EQ(glibc["ratio"]["median"], 1);
  EXPECT_THAT(table, HasSubstr("higher is better"));
  EXPECT_THAT(table, ::testing::ContainsRegex("prwlock +500 +250..800 +2.500 +2.500..2.667\n"));
}

TEST_F(compare, turns_the_ratio_round_when_lower_is_better) {
  const json result = compare_json({"--runs", "2", "--metric", "speed: ([0-9]+)", "--lower"});
  EXPECT_EQ(result["locks"][1]["ratio"]["median"], 0.4);
  EXPECT_EQ(result["better"], "lower");
}

TEST_F(compare, takes_the_whole_match_without_a_group) {
  const json result = compare_json({"--runs", "1", "--metric", "[0-9]+"});
  EXPECT_EQ(result["locks"][1]["values"], json({250}));
}

TEST_F(compare, matches_line_starts_and_ends) {
  const json result = compare_json({"--runs", "1", "--metric", R"(^speed: (\d+) ops$)"});
  EXPECT_EQ(result["locks"][1]["values"], json({250}));
}

TEST_F(compare, alternates_the_order_of_the_locks) {
  compare_json({"--runs", "3", "--locks", "prwlock,glibc,pthread"});
  EXPECT_EQ(read(path("order")),
            "prwlock\nglibc\npthread\n"
            "pthread\nglibc\nprwlock\n"
            "prwlock\nglibc\npthread\n");
}

TEST_F(compare, takes_the_first_lock_for_the_baseline) {
  const json result =
      compare_json({"--runs", "2", "--locks", "pthread,prwlock", "--metric", "speed: ([0-9]+)"});
  EXPECT_EQ(result["baseline"], "pthread");
  EXPECT_EQ(result["locks"][1]["ratio"]["median"], 5);
  EXPECT_THAT(table, HasSubstr("ratio to pthread"));
}

TEST_F(compare, runs_five_rounds_of_glibc_and_prwlock_by_wall_time) {
  const json result = compare_json({});
  EXPECT_EQ(result["rounds"], 5);
  EXPECT_EQ(result["metric"], "wall time");
  ASSERT_EQ(result["locks"].size(), 2u);
  for (const json& lock : result["locks"]) {
    EXPECT_EQ(lock["values"].size(), 5u);
    EXPECT_EQ(lock["values"], lock["seconds"]);
  }
  const double glibc = result["locks"][0]["values"][3];
  const double prwlock = result["locks"][1]["values"][3];
  EXPECT_NEAR(result["locks"][1]["ratios"][3].get<double>(), glibc / prwlock, 1e-9);
  EXPECT_THAT(table, HasSubstr("above 1 is faster"));
}

TEST_F(compare, measures_the_time_of_the_program) {
  script("bench", "sleep 0.3\n");
  const json result = compare_json({"--runs", "1", "--locks", "glibc"});
  EXPECT_GE(result["locks"][0]["seconds"][0].get<double>(), 0.3);
}

TEST_F(compare, writes_the_facts_beside_the_values) {
  const json result = compare_json({"--runs", "1", "--metric", "[0-9]+"});
  EXPECT_EQ(result["command"], json({"./bench", "two words"}));
  EXPECT_EQ(result["metric"], "[0-9]+");
  EXPECT_EQ(result["readmost"], READMOST_VERSION);
  EXPECT_EQ(result["locks"][0]["library"], nullptr);
  EXPECT_EQ(result["locks"][1]["library"], READMOST_IDLE_LIBRARY);
  EXPECT_EQ(result["complete"], true);
  EXPECT_EQ(result["problem"], nullptr);
  EXPECT_GE(result["host"]["cpus"].get<int>(), 1);
  EXPECT_THAT(result["host"]["kernel"].get<std::string>(), HasSubstr("Linux "));
  EXPECT_THAT(result["finished"].get<std::string>(), MatchesRegex(".{4}-.{2}-.{2}T.{8}Z"));
}

TEST_F(compare, takes_the_library_out_of_the_preload_list_under_glibc) {
  environment.push_back(
      "LD_PRELOAD=libm.so.6:/elsewhere/libreadmost-pthread.so:/elsewhere/libreadmost-lab.so");
  script("bench", "echo \"$READMOST_LOCK=$LD_PRELOAD\" >>preloaded\n");
  readmost({"compare", "--runs", "1", "--locks", "glibc", "--", "./bench"});
  EXPECT_EQ(read(path("preloaded")), "=libm.so.6\n");
}

TEST_F(compare, gives_the_program_nothing_on_stdin) {
  input = "some text\n";
  script("bench", "cat >received; echo done >>received\n");
  compare_json({"--runs", "1"});
  EXPECT_EQ(read(path("received")), "done\n");
}

TEST_F(compare, ends_what_the_program_leaves_running) {
  script("bench", "sleep 1000 & echo $! >left\n");
  compare_json({"--runs", "1", "--locks", "glibc"});
  EXPECT_TRUE(vanishes(std::stoi(read(path("left")))));
}

TEST_F(compare, reads_a_program_that_prints_a_lot) {
  script("bench", "seq 1000000; echo speed: 7\n");
  const json result = compare_json({"--runs", "1", "--metric", "speed: (.*)"});
  EXPECT_EQ(result["locks"][0]["values"], json({7}));
}

TEST_F(compare, shows_progress_only_on_a_terminal) {
  const words arguments{"compare", "--runs", "2", "--", "./bench"};
  EXPECT_EQ(readmost(arguments).err, "");

  int terminal = -1;
  ASSERT_EQ(openpty(&terminal, &error_terminal, nullptr, nullptr, nullptr), 0);
  const ending end = readmost(arguments);
  EXPECT_EQ(end.code, 0);
  char shown[4096];
  const ssize_t count = ::read(terminal, shown, sizeof shown);
  ASSERT_GT(count, 0);
  EXPECT_THAT(std::string(shown, static_cast<std::size_t>(count)), HasSubstr("100% (4 of 4)"));
  EXPECT_THAT(end.out, Not(HasSubstr("0%")));
  close(error_terminal);
  close(terminal);
}

}  // namespace
}  // namespace readmost::command_test
