// SPDX-License-Identifier: Apache-2.0
#include <pty.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

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

// --- What the runs tell
// ----------------------------------------------------------------------------

// Runs a program whose number has, in each round, this ratio to glibc's.
class verdict_of_compare : public compare {
 protected:
  json judged(const std::vector<int>& percent, words options = {}) {
    fs::remove(path("order"));
    std::string cases;
    for (std::size_t round = 1; round <= percent.size(); ++round) {
      cases += fmt::format("  {}) n={} ;;\n", round, percent[round - 1]);
    }
    script("bench",
           "case \"$LD_PRELOAD\" in *test_library*) lock=prwlock ;; *) lock=glibc ;; esac\n"
           "echo $lock >>order\n"
           "case $(grep -c \"^$lock$\" order) in\n" +
               cases + "esac\ntest $lock = glibc && n=100\necho speed: $n\n");
    options.insert(options.begin(),
                   {"--metric", "speed: ([0-9]+)", "--runs", std::to_string(percent.size())});
    return compare_json(options)["locks"][1];
  }
};

TEST_F(verdict_of_compare, is_better_if_all_of_five_rounds_are) {
  const json lock = judged({130, 140, 150, 160, 101});
  EXPECT_EQ(lock["verdict"], "better");
  EXPECT_EQ(lock["ratio_interval"], json({{"low", 1.01}, {"high", 1.6}, {"confidence", 0.9}}));
  EXPECT_THAT(table, HasSubstr("result: prwlock is better than glibc: 1.4 times (1.01 to 1.6)\n"));
}

TEST_F(verdict_of_compare, is_worse_by_the_same_rule) {
  EXPECT_EQ(judged({70, 60, 99, 80, 90})["verdict"], "worse");
  EXPECT_THAT(table, HasSubstr("result: prwlock is worse than glibc: 0.8 times (0.6 to 0.99)\n"));
}

TEST_F(verdict_of_compare, is_open_if_one_of_five_rounds_says_the_opposite) {
  EXPECT_EQ(judged({130, 140, 150, 160, 99})["verdict"], "no difference");
  EXPECT_THAT(table, HasSubstr("no difference between prwlock and glibc can be told: 0.99 to 1.6"));
}

TEST_F(verdict_of_compare, is_open_if_the_number_is_the_same) {
  EXPECT_EQ(judged({100, 100, 100, 100, 100})["verdict"], "no difference");
}

// Of eleven values the third from either end bounds the median with a probability of 0.93, the
// fourth with 0.77.
TEST_F(verdict_of_compare, leaves_out_two_of_eleven_rounds_at_either_end) {
  const json lock = judged({50, 60, 105, 110, 120, 130, 140, 150, 160, 300, 900});
  EXPECT_EQ(lock["ratio_interval"]["low"], 1.05);
  EXPECT_EQ(lock["ratio_interval"]["high"], 1.6);
  EXPECT_EQ(lock["verdict"], "better");
}

TEST_F(verdict_of_compare, needs_five_rounds) {
  const json lock = judged({500, 500, 500, 500});
  EXPECT_EQ(lock["verdict"], "too few rounds");
  EXPECT_EQ(lock["ratio_interval"], nullptr);
  EXPECT_THAT(table, HasSubstr("too few rounds to tell prwlock from glibc; give --runs 5 or more"));
}

TEST_F(verdict_of_compare, turns_round_when_lower_is_better) {
  EXPECT_EQ(judged({130, 140, 150, 160, 101}, {"--lower"})["verdict"], "worse");
}

TEST_F(compare, does_not_judge_by_the_wall_time_of_short_runs) {
  script("bench", "");
  const json result = compare_json({});
  EXPECT_EQ(result["locks"][0]["verdict"], nullptr);
  EXPECT_EQ(result["locks"][1]["verdict"], "too short");
  EXPECT_THAT(result["doubts"].dump(), HasSubstr("much of which is the program's start"));
  EXPECT_THAT(table, HasSubstr("result: the runs are too short to tell prwlock from glibc\n"));
}

TEST_F(compare, tells_of_other_processes_that_use_the_cpus) {
  script("bench", "sleep 0.3\n");
  std::vector<pid_t> others;
  for (unsigned cpu = 0; cpu < std::thread::hardware_concurrency(); ++cpu) {
    others.push_back(fork());
    if (others.back() == 0) {
      for (;;) getppid();
    }
  }
  const json result = compare_json({"--runs", "1", "--locks", "glibc"});
  for (const pid_t other : others) {
    kill(other, SIGKILL);
    waitpid(other, nullptr, 0);
  }
  EXPECT_GT(result["locks"][0]["others"]["median"], 0.3);
  EXPECT_THAT(table, HasSubstr("doubt: other processes used "));
}

TEST_F(compare, does_not_take_the_program_itself_for_another_process) {
  script(
      "bench",
      "for i in 1 2 3 4; do (n=0; while [ $n -lt 100000 ]; do n=$((n + 1)); done) & done\nwait\n");
  const auto start = std::chrono::steady_clock::now();
  rusage before{}, after{};
  getrusage(RUSAGE_CHILDREN, &before);
  const json result = compare_json({"--runs", "1", "--locks", "glibc"});
  getrusage(RUSAGE_CHILDREN, &after);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const double own = static_cast<double>(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
                     1e-6 * static_cast<double>(after.ru_utime.tv_usec - before.ru_utime.tv_usec);
  const double share = own / elapsed.count() / std::thread::hardware_concurrency();
  EXPECT_LT(result["locks"][0]["others"]["median"], 1 - share / 2);
}

TEST_F(verdict_of_compare, is_coloured_on_a_terminal_unless_no_color_is_set) {
  const auto shown_with = [&](const words& variables) {
    environment = variables;
    environment.push_back(std::string("READMOST_LIBRARY=") + READMOST_IDLE_LIBRARY);
    int terminal = -1;
    EXPECT_EQ(openpty(&terminal, &output_terminal, nullptr, nullptr, nullptr), 0);
    judged({130, 140, 150, 160, 101});
    char shown[8192];
    const ssize_t count = ::read(terminal, shown, sizeof shown);
    close(output_terminal);
    close(terminal);
    output_terminal = -1;
    return std::string(shown, count > 0 ? static_cast<std::size_t>(count) : 0);
  };
  EXPECT_THAT(shown_with({"TERM=xterm", "NO_COLOR="}), HasSubstr("\x1b[32mprwlock is better"));
  for (const words& without :
       {words{"TERM=xterm", "NO_COLOR=1"}, words{"TERM=dumb", "NO_COLOR="}}) {
    EXPECT_THAT(shown_with(without),
                AllOf(HasSubstr("result: prwlock is better"), Not(HasSubstr("\x1b["))));
  }
  judged({130, 140, 150, 160, 101});
  EXPECT_THAT(table, Not(HasSubstr("\x1b[")));
}

TEST_F(compare, follows_its_schema) {
  compare_json({"--runs", "5", "--locks", "glibc,prwlock,pthread"});
  const auto found = [&] { return violations_in("result.json", READMOST_COMPARE_SCHEMA); };
  EXPECT_EQ(found(), "");
  script("bench", "test -z \"$LD_PRELOAD\"\n");
  readmost({"compare", "--json", "result.json", "--runs", "2", "--", "./bench"});
  EXPECT_EQ(read_json("result.json")["complete"], false);
  EXPECT_EQ(found(), "");
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
  EXPECT_THAT(std::string(shown, static_cast<std::size_t>(count)),
              AllOf(HasSubstr("100% (4 of 4)"),
                    ContainsRegex("50% \\(2 of 4\\), prwlock, round 2 of 2, [0-9]+ s left")));
  EXPECT_THAT(end.out, AllOf(Not(HasSubstr(" of 4)")), Not(HasSubstr(" left"))));
  close(error_terminal);
  close(terminal);
}

}  // namespace
}  // namespace readmost::command_test
