// SPDX-License-Identifier: Apache-2.0
#include <pty.h>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;

class top : public real_command {
 protected:
  ~top() override { end_program(); }

  // Runs a program that has used its locks and keeps reading one of them.
  void run_program(words variables, const std::string& library = READMOST_REAL_LIBRARY,
                   const std::string& file = READMOST_LOCK_PLACES) {
    variables.push_back("LD_PRELOAD=" + library);
    run_with(file, {path("ready").string()}, variables);
    EXPECT_EQ(read_when_written(path("ready")), "ready\n");
  }

  void run_with(const std::string& file, const words& arguments, const words& variables) {
    executable = file;
    environment = variables;
    program = start(arguments);
    environment.clear();
    executable = READMOST_COMMAND;
  }

  void end_program() {
    if (program <= 0) return;
    kill(program, SIGKILL);
    waitpid(program, nullptr, 0);
    program = 0;
  }

  words arguments(words more = {}) const {
    words all{"top", "-p", std::to_string(program), "-d", "0.1"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  pid_t program = 0;
};

TEST_F(top, shows_the_rates_of_each_lock) {
  run_program({"READMOST_STATS=/dev/null"});
  const ending end = readmost(arguments({"-n", "2"}));
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(
      end.out,
      AllOf(ContainsRegex("readmost [0-9.]+:[ \n]+.*command_lock_places[ \n]+\\(process[ \n]+[0-9]+"
                          "\\),[ \n]+1[ \n]+threads,[ \n]+over[ \n]+0\\.[0-9]+[ \n]+s\n"),
            HasSubstr("per second: reads "), HasSubstr("r-p99"),
            HasSubstr("  places::routes (command_lock_places)\n"), Not(HasSubstr("shard_table")),
            Not(HasSubstr("\x1b"))));
  EXPECT_NE(end.out.find("readmost"), end.out.rfind("readmost")) << "two blocks";
}

TEST_F(top, cuts_names_to_the_columns_of_a_terminal) {
  run_program({"READMOST_STATS=/dev/null"});
  environment = {"TERM=xterm", "NO_COLOR="};
  winsize size{};
  size.ws_col = 70;
  size.ws_row = 24;
  int terminal = -1;
  ASSERT_EQ(openpty(&terminal, &output_terminal, nullptr, nullptr, &size), 0);
  EXPECT_EQ(readmost(arguments({"--once"})).code, 0);
  char shown[8192];
  const ssize_t count = ::read(terminal, shown, sizeof shown);
  ASSERT_GT(count, 0);
  const std::string block(shown, static_cast<std::size_t>(count));
  EXPECT_THAT(block,
              AllOf(HasSubstr("  places::route...\r\n"), Not(HasSubstr("lock_places)\r\n"))));
  close(output_terminal);
  close(terminal);
}

TEST_F(top, fits_80_columns_without_a_terminal) {
  // With a control character, which is shown by four.
  const std::string here = folder.string() + "/\x1b";
  const std::string file = here + std::string(74 - here.size(), 'p');
  fs::copy_file(READMOST_LOCK_PLACES, file);
  for (const char* statistics : {"READMOST_STATS=/dev/null", "READMOST_STATS=0"}) {
    fs::remove(path("ready"));
    run_program({statistics}, READMOST_REAL_LIBRARY, file);
    std::istringstream lines(readmost(arguments({"--once"})).out);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      EXPECT_LE(line.size(), 80) << line;
      EXPECT_THAT(line, Not(AnyOf(HasSubstr("\x1b"), EndsWith(" "))));
    }
    EXPECT_GE(count, 5);
    end_program();
  }
}

TEST_F(top, writes_a_json_object_for_each_interval) {
  run_program({"READMOST_STATS=/dev/null"});
  const ending end = readmost(arguments({"-n", "3", "--json"}));
  EXPECT_EQ(end.code, 0) << end.err;
  std::istringstream lines(end.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const json block = json::parse(line);
    EXPECT_EQ(block["pid"], program);
    EXPECT_EQ(block["threads"], 1);
    ASSERT_EQ(block["hottest"].size(), 1u) << block;
    const json& lock = block["hottest"][0];
    EXPECT_EQ(lock["place"], "places::routes (command_lock_places)");
    EXPECT_GT(lock["per_second"]["reads"]["passive"].get<double>(), 1'000);
    EXPECT_EQ(lock["per_second"]["writes"], 0);
    EXPECT_EQ(lock["waits"]["readers"]["count"], 0);
    EXPECT_GT(block["per_second"]["reads"]["passive"].get<double>(), 1'000);
  }
  EXPECT_EQ(count, 3);
}

TEST_F(top, shows_one_block_with_once) {
  run_program({"READMOST_STATS=/dev/null"});
  const ending end = readmost(arguments({"--once"}));
  EXPECT_EQ(end.code, 0) << end.err;
  // A block begins with the command's name; the program's path may contain it too.
  EXPECT_THAT(end.out, StartsWith("readmost"));
  EXPECT_THAT(end.out, Not(HasSubstr("\nreadmost")));
}

TEST_F(top, shows_the_sums_of_a_program_that_runs_without_statistics) {
  run_program({});
  const ending end = readmost(arguments({"--once"}));
  EXPECT_EQ(end.code, 0) << end.err;
  EXPECT_THAT(end.out,
              AllOf(ContainsRegex("reads [0-9.]+[kM], "),
                    HasSubstr("without statistics;\n  start it with 'readmost run --stats"),
                    Not(HasSubstr("places::routes"))));
  EXPECT_EQ(json::parse(readmost(arguments({"--once", "--json"})).out)["hottest"], nullptr);
}

TEST_F(top, says_so_when_every_lock_is_left_to_glibc) {
  run_program({"READMOST_LOCK=pthread", "READMOST_STATS=/dev/null"}, READMOST_LAB_LIBRARY);
  EXPECT_THAT(readmost(arguments({"--once"})).out, HasSubstr("left to glibc"));
}

TEST_F(top, ends_with_the_process) {
  run_program({"READMOST_STATS=/dev/null"});
  const words endless = arguments({"--json"});
  const pid_t watching = start(endless);
  read_when_written(path(".stdout"));
  const pid_t watched = program;
  end_program();
  const ending end = wait(watching);
  EXPECT_TRUE(end.exited);
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.err, HasSubstr(fmt::format("process {} (", watched)));
  EXPECT_THAT(end.err, HasSubstr("has ended"));
}

TEST_F(top, ends_when_it_is_interrupted_and_leaves_the_process_alone) {
  run_program({"READMOST_STATS=/dev/null"});
  for (const auto& [signal, status] : {std::pair(SIGINT, 0), std::pair(SIGTERM, 128 + SIGTERM)}) {
    fs::remove(path(".stdout"));
    const pid_t watching = start(arguments({"--json"}));
    read_when_written(path(".stdout"));
    kill(watching, signal);
    EXPECT_EQ(wait(watching).code, status);
  }
  EXPECT_EQ(waitpid(program, nullptr, WNOHANG), 0) << "still running";
}

TEST_F(top, refuses_a_process_that_does_not_exist) {
  run_with("/bin/true", {}, {});
  waitpid(program, nullptr, 0);
  expect_refusal(arguments(), 125, {fmt::format("no process {}", program), "pidof"});
  program = 0;
}

TEST_F(top, refuses_a_process_without_the_library) {
  run_with("/bin/sleep", {"1000"}, {});
  // Until it executes sleep, the process is a copy of this test.
  EXPECT_TRUE(becomes(program, "sleep"));
  expect_refusal(arguments(), 125,
                 {fmt::format("process {} (/bin/sleep)", program), "readmost run --stats"});
}

TEST_F(top, refuses_a_process_of_somebody_else) {
  expect_refusal_of_somebody_elses_process("top");
}

}  // namespace
}  // namespace readmost::command_test
