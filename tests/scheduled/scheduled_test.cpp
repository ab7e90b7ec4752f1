// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "support/shell.hpp"

namespace {

using test::outcome;
using test::run_in_shell;
using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

const std::string scheduled = READMOST_SCHEDULED;
const std::string program = SWITCHED_PROGRAM;
const std::string readmost = READMOST_COMMAND;
// A program without the right to load anything; root alone can take it away.
const std::string without_right = "setpriv --bounding-set=-all --inh-caps=-all ";

bool is_offered() {
  static const bool offered = run_in_shell(scheduled + " --check").status == 0;
  return offered;
}

// What the program says with the scheduler's help. Where there is none, expects that it says why,
// and that the program runs all the same.
std::string with_help(const std::string& arguments) {
  const outcome result = run_in_shell(scheduled + " " + program + " " + arguments);
  if (is_offered()) {
    EXPECT_EQ(result.status, 0) << result.text;
    return result.text;
  }
  EXPECT_EQ(result.status, 3) << result.text;
  EXPECT_THAT(result.text, StartsWith("readmost-scheduled: no help of the scheduler: "));
  EXPECT_THAT(result.text, EndsWith("\nno notes\n"));
  return "";
}

struct counts {
  unsigned long noted = 0, all = 0, holding = 0, inside = 0;
};

counts counted(const std::string& text) {
  counts found;
  EXPECT_EQ(std::sscanf(text.c_str(),
                        "%lu of %lu switches noted, %lu with a passive hold, %lu in a section",
                        &found.noted, &found.all, &found.holding, &found.inside),
            4)
      << text;
  return found;
}

TEST(notes, have_every_switch_with_a_passive_hold) {
  const std::string said = with_help("holding 1000");
  if (said.empty()) return;
  const counts found = counted(said);
  EXPECT_GE(found.all, 1000U);
  EXPECT_EQ(found.noted, found.all);
  EXPECT_EQ(found.holding, found.all);
  EXPECT_EQ(found.inside, 0U);
}

TEST(notes, have_every_switch_with_a_passive_hold_on_the_stack_of_nested_ones) {
  const std::string said = with_help("nested 200");
  if (said.empty()) return;
  const counts found = counted(said);
  EXPECT_EQ(found.holding, found.all);
}

TEST(notes, have_every_switch_in_a_section) {
  const std::string said = with_help("inside 1000");
  if (said.empty()) return;
  const counts found = counted(said);
  EXPECT_EQ(found.noted, found.all);
  EXPECT_EQ(found.inside, found.all);
  EXPECT_EQ(found.holding, 0U);
}

TEST(notes, have_no_holds_where_there_are_none) {
  const std::string said = with_help("nothing 200");
  if (said.empty()) return;
  const counts found = counted(said);
  EXPECT_EQ(found.noted, found.all);
  EXPECT_EQ(found.holding, 0U);
  EXPECT_EQ(found.inside, 0U);
}

TEST(notes, tell_threads_that_run_from_those_that_do_not) {
  const std::string said = with_help("watched");
  if (said.empty()) return;
  EXPECT_EQ(said, "a thread that sleeps is seen\na thread that runs is not\n");
}

TEST(notes, are_not_believed_when_the_kernels_half_may_be_gone) {
  const std::string said = with_help("killed");
  if (said.empty()) return;
  EXPECT_EQ(said, "nothing is believed any more\n");
}

TEST(notes, are_for_the_process_whatever_program_it_becomes) {
  const std::string said = with_help("exec " + program + " holding 100");
  if (said.empty()) return;
  const counts found = counted(said);
  EXPECT_EQ(found.holding, found.all);
}

TEST(notes, are_not_for_its_children) {
  const outcome result =
      run_in_shell(scheduled + " sh -c '" + program + " holding 1; echo status $?'");
  EXPECT_THAT(result.text, EndsWith("no notes\nstatus 3\n"));
}

TEST(command, says_whether_the_kernel_can_do_it) {
  const outcome result = run_in_shell(scheduled + " --check");
  if (is_offered()) {
    EXPECT_EQ(result.text, "the kernel can note context switches\n");
  } else {
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.text, AnyOf(HasSubstr("CAP_BPF"), HasSubstr("CONFIG_DEBUG_INFO_BTF"),
                                   HasSubstr("CONFIG_BPF_SYSCALL"), HasSubstr("container")));
  }
}

TEST(command, runs_the_program_without_the_right_to_load_anything) {
  if (run_in_shell(without_right + "true").status != 0) return;  // not root: the tests above did
  const outcome check = run_in_shell(without_right + scheduled + " --check");
  EXPECT_EQ(check.status, 1);
  EXPECT_THAT(check.text, HasSubstr("CAP_BPF and CAP_PERFMON"));
  const outcome result = run_in_shell(without_right + scheduled + " sh -c 'echo runs; exit 7'");
  EXPECT_EQ(result.status, 7);
  EXPECT_THAT(result.text, StartsWith("readmost-scheduled: no help of the scheduler: the kernel"));
  EXPECT_THAT(result.text, EndsWith("\nruns\n"));
}

TEST(command, keeps_the_process_and_its_exit_status) {
  const outcome result = run_in_shell("sh -c 'exec 2>/dev/null; echo $$; exec " + scheduled +
                                      " -- sh -c \"echo \\$\\$; exit 9\"'");
  EXPECT_EQ(result.status, 9);
  const std::size_t half = result.text.size() / 2;
  EXPECT_EQ(result.text.substr(0, half), result.text.substr(half));
}

TEST(command, preloads_into_the_program_alone) {
  const outcome result = run_in_shell(scheduled + " --preload /no-such-library.so env");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.text, HasSubstr("LD_PRELOAD=/no-such-library.so\n"));
}

TEST(run, has_the_schedulers_help_if_it_is_asked_for) {
  const std::string print = " -- sh -c 'echo \"$READMOST_SCHEDULER_NOTES $LD_PRELOAD\"; exit 5'";
  const outcome with = run_in_shell(readmost + " run --scheduler-help" + print);
  EXPECT_EQ(with.status, 5);
  EXPECT_THAT(with.text, EndsWith("/libreadmost-pthread.so\n"));
  if (is_offered()) {
    EXPECT_THAT(with.text, StartsWith("1"));
  } else {
    EXPECT_THAT(with.text, StartsWith("readmost-scheduled: no help of the scheduler: "));
  }
  const outcome without = run_in_shell(readmost + " run" + print);
  EXPECT_EQ(without.status, 5);
  EXPECT_THAT(without.text, StartsWith(" /"));
}

TEST(doctor, says_whether_the_scheduler_can_help) {
  const std::string answer = run_in_shell(scheduled + " --check").text;
  const outcome result = run_in_shell(readmost + " doctor --quick --json");
  EXPECT_THAT(result.text, HasSubstr(is_offered() ? "\"offered\": true" : "\"offered\": false"));
  EXPECT_THAT(result.text, HasSubstr(answer.substr(0, answer.find('\n'))));
}

TEST(command, names_what_is_wrong_with_the_command_line) {
  EXPECT_EQ(run_in_shell(scheduled).status, 2);
  EXPECT_EQ(run_in_shell(scheduled + " --").status, 2);
  const outcome unknown = run_in_shell(scheduled + " --chekc");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.text, HasSubstr("unknown option --chekc"));
  EXPECT_EQ(run_in_shell(scheduled + " ./no-such-program").status, 127);
  EXPECT_EQ(run_in_shell(scheduled + " /").status, 126);
  EXPECT_THAT(run_in_shell(scheduled + " --help").text, StartsWith("usage: "));
}

}  // namespace
