// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

namespace readmost::command_test {
namespace {

class compare_failure : public command {
 protected:
  // Expects the run to fail with all these parts on stderr.
  void expect_failure(words arguments, const words& parts) {
    arguments.insert(arguments.begin(), "compare");
    const ending end = readmost(arguments);
    EXPECT_EQ(end.code, 1);
    for (const std::string& part : parts) EXPECT_THAT(end.err, HasSubstr(part));
    EXPECT_THAT(end.err, Not(HasSubstr("\n50\n"))) << "more than the end of the output";
  }

  // Succeeds twice under each lock, then executes `lines`.
  void script_failing_in_the_third_round(const std::string& lines) {
    script("bench",
           "echo run >>runs\n"
           "[ $(wc -l <runs) -le 4 ] || { " +
               lines + "\n}\necho 5 ops\n");
  }
};

TEST_F(compare_failure, is_explained) {
  expect_failure({"--metric", "speed: ([0-9]+)", "--", "seq", "100"},
                 {"'speed: ([0-9]+)'", "lock glibc", "\n99\n100\n"});
  expect_failure({"--metric", "x", "--", "true"}, {"it printed nothing"});
  expect_failure({"--metric", "n=(.*)", "--", "echo", "n=fast"}, {"'fast'", "not a number"});
  expect_failure({"--metric", "n=(.*)", "--", "echo", "n=0"}, {"above 0"});
  expect_failure({"--", "sh", "-c", "kill -SEGV $$"}, {"SIGSEGV"});
  script("bench", "echo some trouble >&2; test -z \"$LD_PRELOAD\" || exit 7\n");
  expect_failure({"--", "./bench"},
                 {"under lock prwlock, round 1 of 5", "status 7", "some trouble\n"});
}

TEST_F(compare_failure, is_expected_when_the_library_cannot_reach_the_program) {
  const ending end = readmost({"compare", "--runs", "1", "--", READMOST_STATIC_PROGRAM});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.err, HasSubstr("statically linked"));
}

TEST_F(compare_failure, for_a_table_that_cannot_be_written) {
  const ending end =
      readmost({"run", "--", "sh", "-c",
                std::string("exec ") + READMOST_COMMAND + " compare --runs 1 -- true >/dev/full"});
  EXPECT_EQ(end.code, 125);
  EXPECT_THAT(end.err, HasSubstr("No space left on device"));
}

TEST_F(compare_failure, does_not_wait_for_a_reader_of_a_named_pipe) {
  const std::string pipe = path("pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const words arguments{"compare", "--runs", "1", "--json", "pipe", "--", "true"};
  const ending alone = readmost(arguments);
  EXPECT_EQ(alone.code, 125);
  EXPECT_THAT(alone.out, HasSubstr("ratio")) << "the table comes first";
  EXPECT_THAT(alone.err, AllOf(HasSubstr(pipe), HasSubstr("nobody reads from this pipe")));

  const int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(readmost(arguments).code, 0);
  char begin[2] = {};
  EXPECT_EQ(::read(reader, begin, 1), 1);
  EXPECT_STREQ(begin, "{");
  close(reader);
}

TEST_F(compare_failure, leaves_the_file_of_results_as_it_was_until_there_are_others) {
  write("result.json", "earlier");
  script("bench", "echo $$ >up; exec sleep 1000\n");
  const pid_t child = start({"compare", "--json", "result.json", "--", "./bench"});
  const pid_t bench = std::stoi(read_when_written(path("up")));
  kill(child, SIGKILL);
  kill(bench, SIGKILL);
  wait(child);
  EXPECT_EQ(read(path("result.json")), "earlier");
}

TEST_F(compare_failure, keeps_the_results_of_the_rounds_before) {
  script_failing_in_the_third_round("exit 9");
  const ending end =
      readmost({"compare", "--metric", "([0-9]+) ops", "--json", "result.json", "--", "./bench"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, AllOf(HasSubstr("INCOMPLETE: 2 of 5 rounds"), HasSubstr("1.000..1.000")));
  const json result = read_json("result.json");
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
  EXPECT_EQ(read_json("result.json")["rounds_finished"], 2);
}

}  // namespace
}  // namespace readmost::command_test
