#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using json = nlohmann::json;

class compare_failure : public command {
 protected:
  void expect_usage_error(words arguments, const words& parts) {
    arguments.insert(arguments.begin(), "compare");
    const ending end = readmost(arguments);
    EXPECT_TRUE(end.exited);
    EXPECT_EQ(end.code, 125);
    EXPECT_EQ(end.out, "");
    EXPECT_EQ(std::ranges::count(end.err, '\n'), 1) << end.err;
    for (const std::string& part : parts) EXPECT_THAT(end.err, HasSubstr(part));
  }

  // Works twice under each lock, then does what `lines` say.
  void script_failing_in_the_third_round(const std::string& lines) {
    script("bench",
           "echo run >>runs\n"
           "[ $(wc -l <runs) -le 4 ] || { " +
               lines + "\n}\necho 5 ops\n");
  }
};

TEST_F(compare_failure, for_a_bad_regular_expression) {
  expect_usage_error({"--metric", "([0-9]", "--", "true"}, {"'([0-9]'", "missing )"});
  expect_usage_error({"--metric", "", "--", "true"}, {"--metric", "empty"});
}

TEST_F(compare_failure, for_lower_without_a_metric) {
  expect_usage_error({"--lower", "--", "true"}, {"--lower", "--metric"});
}

TEST_F(compare_failure, for_an_unknown_lock) {
  expect_usage_error({"--locks", "glibc,spin", "--", "true"},
                     {"'spin'", "glibc, prwlock, pthread, ba, ", "or all"});
}

TEST_F(compare_failure, for_a_number_of_runs_out_of_range) {
  for (const char* runs : {"0", "-1", "1001", "2.5", "many", ""}) {
    expect_usage_error({"--runs", runs, "--", "true"},
                       {std::string("'") + runs + "'", "1 to 1000"});
  }
}

TEST_F(compare_failure, for_a_timeout_out_of_range) {
  for (const char* seconds : {"0", "-1", "nan", "100000", "1h"}) {
    expect_usage_error({"--timeout", seconds, "--", "true"},
                       {std::string("'") + seconds + "'", "86400"});
  }
}

TEST_F(compare_failure, for_no_program) {
  expect_usage_error({"--runs", "2"}, {"no program"});
}

TEST_F(compare_failure, for_a_json_file_that_cannot_be_written) {
  script("bench", "echo run >>runs\n");
  expect_usage_error({"--json", "no/such/folder/x.json", "--", "./bench"},
                     {"no/such/folder/x.json", "No such file or directory"});
  EXPECT_FALSE(std::filesystem::exists(path("runs"))) << "the file is tried before the first run";
}

TEST_F(compare_failure, for_a_table_that_cannot_be_written) {
  const ending end =
      readmost({"run", "--", "sh", "-c",
                std::string("exec ") + READMOST_COMMAND + " compare --runs 1 -- true >/dev/full"});
  EXPECT_EQ(end.code, 125);
  EXPECT_THAT(end.err, HasSubstr("No space left on device"));
}

TEST_F(compare_failure, for_a_program_that_cannot_run) {
  write("text", "no program");
  EXPECT_EQ(readmost({"compare", "--", "no-such-program"}).code, 127);
  EXPECT_EQ(readmost({"compare", "--", "./text"}).code, 126);
  script("bad", "");
  write("bad", "#!/no/such/interpreter\n");
  const ending end = readmost({"compare", "--", "./bad"});
  EXPECT_EQ(end.code, 126);
  EXPECT_THAT(end.err, AllOf(HasSubstr("./bad"), HasSubstr("interpreter")));
}

TEST_F(compare_failure, shows_the_end_of_the_output_when_the_metric_is_not_there) {
  const ending end = readmost({"compare", "--metric", "speed: ([0-9]+)", "--", "seq", "100"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("'speed: ([0-9]+)'"), HasSubstr("lock glibc"),
                             HasSubstr("\n99\n100\n"), Not(HasSubstr("\n50\n"))));
}

TEST_F(compare_failure, says_when_the_program_printed_nothing) {
  EXPECT_THAT(readmost({"compare", "--metric", "x", "--", "true"}).err,
              HasSubstr("it printed nothing"));
}

TEST_F(compare_failure, names_what_is_not_a_number) {
  const ending end = readmost({"compare", "--metric", "n=(.*)", "--", "echo", "n=fast"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("'fast'"), HasSubstr("not a number")));
}

TEST_F(compare_failure, refuses_numbers_that_have_no_ratio) {
  const ending end = readmost({"compare", "--metric", "n=(.*)", "--", "echo", "n=0"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, HasSubstr("above 0"));
}

TEST_F(compare_failure, names_lock_status_and_output_of_a_program_that_fails) {
  script("bench", "echo some trouble >&2; test -z \"$LD_PRELOAD\" || exit 7\n");
  const ending end = readmost({"compare", "--", "./bench"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("under lock prwlock, round 1 of 5"), HasSubstr("status 7"),
                             HasSubstr("some trouble\n")));
}

TEST_F(compare_failure, names_the_signal_that_killed_the_program) {
  const ending end = readmost({"compare", "--", "sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, HasSubstr("SIGSEGV"));
}

TEST_F(compare_failure, keeps_the_results_of_the_rounds_before) {
  script_failing_in_the_third_round("exit 9");
  const ending end =
      readmost({"compare", "--metric", "([0-9]+) ops", "--json", "result.json", "--", "./bench"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, AllOf(HasSubstr("INCOMPLETE: 2 of 5 rounds"), HasSubstr("1.000..1.000")));
  const json result = json::parse(read(path("result.json")));
  EXPECT_EQ(result["complete"], false);
  EXPECT_THAT(result["problem"].get<std::string>(), HasSubstr("status 9"));
  EXPECT_EQ(result["rounds_finished"], 2);
  EXPECT_EQ(result["locks"][1]["values"], json({5, 5}));
}

TEST_F(compare_failure, kills_the_whole_group_of_a_program_that_hangs) {
  script("bench", "sleep 1000 & echo $! >sleeper; echo hanging; trap '' TERM; wait; sleep 1000\n");
  const ending end = readmost({"compare", "--timeout", "2.5", "--", "./bench"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.err, AllOf(HasSubstr("after 2.5 seconds"), HasSubstr("lock glibc"),
                             HasSubstr("hanging\n"), HasSubstr("--timeout")));
  EXPECT_TRUE(vanishes(std::stoi(read(path("sleeper")))));
}

TEST_F(compare_failure, ends_the_program_when_interrupted) {
  script("bench", "sleep 1000 & echo $! >sleeper; wait\n");
  const pid_t child = start({"compare", "--", "./bench"});
  const pid_t sleeper = std::stoi(read_when_written(path("sleeper")));
  kill(child, SIGINT);
  const ending end = wait(child);
  EXPECT_TRUE(end.exited);
  EXPECT_EQ(end.code, 130);
  EXPECT_THAT(end.err, HasSubstr("interrupted by SIGINT"));
  EXPECT_TRUE(vanishes(sleeper));
}

TEST_F(compare_failure, lets_the_program_clean_up_before_it_is_killed) {
  script("bench", "trap 'echo done >cleaned; exit' TERM; echo up >up; sleep 1000 & wait\n");
  const pid_t child = start({"compare", "--", "./bench"});
  read_when_written(path("up"));
  kill(child, SIGINT);
  EXPECT_EQ(wait(child).code, 130);
  EXPECT_EQ(read(path("cleaned")), "done\n");
}

TEST_F(compare_failure, keeps_the_results_when_interrupted) {
  script_failing_in_the_third_round("echo waiting >waiting; sleep 1000");
  const pid_t child = start({"compare", "--json", "result.json", "--", "./bench"});
  read_when_written(path("waiting"));
  kill(child, SIGTERM);
  const ending end = wait(child);
  EXPECT_EQ(end.code, 128 + SIGTERM);
  EXPECT_THAT(end.out, HasSubstr("INCOMPLETE: 2 of 5 rounds"));
  EXPECT_EQ(json::parse(read(path("result.json")))["rounds_finished"], 2);
}

TEST_F(compare_failure, warns_when_the_library_cannot_reach_the_program) {
  const ending end = readmost({"compare", "--runs", "1", "--", READMOST_STATIC_PROGRAM});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.err, HasSubstr("statically linked"));
}

}  // namespace
}  // namespace readmost::command_test
