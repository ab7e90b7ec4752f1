// SPDX-License-Identifier: Apache-2.0
// The reports about misuse of RCU; misuse_program.cpp commits it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/shell.hpp"

namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using variables = std::vector<std::pair<std::string, std::string>>;

const variables on{{"READMOST_RCU_CHECK", "1"}};
const variables off{{"READMOST_RCU_CHECK", "0"}};
// For sections that end with the process, however long that takes.
const variables on_without_limit{{"READMOST_RCU_CHECK", "1"}, {"READMOST_RCU_SECTION_LIMIT", "0"}};

variables with(variables some, const std::string& name, const std::string& value) {
  some.emplace_back(name, value);
  return some;
}

using test::outcome;

outcome run(const std::string& scenario, const variables& environment) {
  std::string command = "exec env -u READMOST_RCU_CHECK";
  for (const auto& [name, value] : environment) command += " '" + name + "=" + value + "'";
  return test::run_in_shell(command + " " MISUSE_EMULATOR " '" MISUSE_PROGRAM "' " + scenario);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

constexpr char head[] = "readmost: ";

std::size_t reports_in(const std::string& text) {
  const auto lines = lines_of(text);
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with(head); }));
}

void expect_nothing(const outcome& result, const char* what = "") {
  EXPECT_EQ(result.status, 0) << what;
  EXPECT_THAT(result.text, IsEmpty()) << what;
}

// Expects exactly one report, of that kind, that names the function at fault.
void expect_report(const std::string& text, const std::string& title, const std::string& function) {
  EXPECT_EQ(reports_in(text), 1U) << text;
  EXPECT_THAT(text, HasSubstr(head + title));
  EXPECT_THAT(text, ContainsRegex("  thread [0-9]+ \\(.+\\) of process [0-9]+, domain [0-9]+, at "
                                  "[0-9]+\\.[0-9]+ s"));
  EXPECT_THAT(text, ContainsRegex("  (called|entered) in .*" + function +
                                  ".*\\+0x[0-9a-f]+ \\(misuse_program\\+0x[0-9a-f]+\\)"));
}

// The same for a program that continues to its end. Returns the report for further expectations.
std::string expect_report(const outcome& result, const std::string& title,
                          const std::string& function) {
  EXPECT_EQ(result.status, 0);
  expect_report(result.text, title, function);
  return result.text;
}

TEST(misuse, waiting_for_the_own_section_is_reported_once_though_nothing_is_looked_for) {
  for (const auto& environment : {on_without_limit, off}) {
    const std::string text =
        expect_report(run("synchronize_inside", environment),
                      "waiting for a grace period inside a read section", "synchronize_here");
    EXPECT_THAT(text, HasSubstr(" (stuck) "));
  }
}

TEST(misuse, the_report_of_a_wait_inside_tells_where_the_section_was_entered) {
  EXPECT_THAT(run("synchronize_inside", on_without_limit).text,
              AllOf(ContainsRegex("in the section for [0-9]+\\.[0-9]+ s"),
                    ContainsRegex("  entered in .*enter_the_section")));
}

TEST(misuse, a_conditional_wait_is_reported_only_if_it_has_to_wait) {
  expect_report(run("synchronize_since_inside", on_without_limit),
                "waiting for a grace period inside a read section", "synchronize_since_here");
  expect_nothing(run("ticket_of_the_past", on));
}

TEST(misuse, abort_ends_the_process_where_it_would_wait_for_itself) {
  const outcome result = run("synchronize_inside", variables{{"READMOST_RCU_CHECK", "abort"}});
  EXPECT_NE(result.status, 0);
  expect_report(result.text, "waiting for a grace period inside a read section",
                "synchronize_here");
}

TEST(misuse, abort_leaves_a_program_alone_that_can_go_on) {
  const outcome result = run("unlock_without_lock", variables{{"READMOST_RCU_CHECK", "abort"}});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(reports_in(result.text), 1U);
}

TEST(misuse, a_barrier_inside_a_section_is_reported_once) {
  expect_report(run("barrier_inside", on), "rcu_barrier inside a read section", "barrier_here");
}

TEST(misuse, the_end_of_a_domain_inside_its_own_section_is_reported) {
  const outcome result = run("destroy_inside", on);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(reports_in(result.text), 1U) << result.text;
  EXPECT_THAT(result.text,
              AllOf(HasSubstr("rcu_barrier inside a read section"), HasSubstr("close_reclamation"),
                    HasSubstr("destroy_here"), Not(HasSubstr("domain 0,"))));
}

TEST(misuse, waiting_inside_a_section_of_another_domain_is_right) {
  expect_nothing(run("wait_inside_another", on));
}

TEST(misuse, a_barrier_in_a_deleter_works_and_is_warned_of_once) {
  expect_report(run("barrier_in_deleter", on), "warning: rcu_barrier in a deleter", "barrier_here");
}

TEST(misuse, an_unlock_without_lock_is_reported_once_and_ignored) {
  expect_report(run("unlock_without_lock", on),
                "a read section is closed that this thread did not open", "unlock_here");
}

// Expects a report about a section open for more than `limit` milliseconds, and returns it.
std::string expect_report_of_long_section(const std::string& scenario, const std::string& limit) {
  const std::string text =
      expect_report(run(scenario, with(on, "READMOST_RCU_SECTION_LIMIT", limit)),
                    "a read section is open for too long", "enter_the_section");
  EXPECT_THAT(text, HasSubstr(" (sleeper) of process "));
  return text;
}

TEST(misuse, a_long_section_is_reported_once_by_the_grace_period_that_waits_for_it) {
  EXPECT_THAT(expect_report_of_long_section("long_section_waited_for", "50"),
              ContainsRegex("a grace period waits for it, led by thread [0-9]+ "
                            "\\(misuse_program\\)"));
}

TEST(misuse, a_long_section_is_found_while_short_ones_come_and_go) {
  expect_report_of_long_section("long_section_among_short_ones", "50");
}

TEST(misuse, a_long_section_is_found_by_who_polls_for_it) {
  expect_report_of_long_section("long_section_polled", "50");
}

TEST(misuse, a_long_section_for_which_nobody_waits_is_reported_once_at_its_end) {
  EXPECT_THAT(expect_report_of_long_section("long_section_alone", "20"),
              AllOf(HasSubstr("stay_for"), Not(HasSubstr("a grace period waits"))));
}

TEST(misuse, the_limit_of_sections_is_a_second_unless_set_and_none_if_zero) {
  for (const char* limit : {"", "0", "5000"}) {
    expect_nothing(run("long_section_waited_for", with(on, "READMOST_RCU_SECTION_LIMIT", limit)),
                   limit);
  }
  const outcome result = run("long_section_alone", with(on, "READMOST_RCU_SECTION_LIMIT", "soon"));
  EXPECT_EQ(
      result.text,
      "readmost: READMOST_RCU_SECTION_LIMIT=soon is no number of milliseconds. Using 1000.\n");
}

TEST(misuse, a_dereference_outside_is_reported_once_and_one_inside_never) {
  expect_report(run("dereference_outside", on),
                "a protected pointer is read outside of all read sections", "dereference_here");
}

TEST(misuse, an_object_retired_twice_is_reported_once_and_reclaimed_once) {
  expect_report(run("retire_twice", on), "an object is retired that is retired already",
                "retire_here");
}

TEST(misuse, a_copy_of_a_retired_object_is_not_retired) {
  expect_nothing(run("retire_a_copy_of_a_retired_one", on));
}

TEST(misuse, an_object_that_its_deleter_keeps_may_be_retired_again) {
  expect_nothing(run("retire_again_after_the_deleter", on));
}

TEST(misuse, a_thread_that_ends_inside_a_section_is_reported_with_its_entry) {
  const std::string text = expect_report(
      run("exit_inside", on), "a thread ends inside a read section", "enter_the_section");
  EXPECT_THAT(text, HasSubstr(" (leaver) of process "));
}

TEST(misuse, nothing_but_the_sure_hang_is_looked_for_unless_asked) {
  std::vector<variables> unasked{off, {{"READMOST_RCU_SECTION_LIMIT", "10"}}};
#if defined(READMOST_RCU_CHECK)
  unasked.pop_back();
#endif
  for (const auto& environment : unasked) {
    for (const char* scenario :
         {"barrier_inside", "destroy_inside", "barrier_in_deleter", "unlock_without_lock",
          "long_section_waited_for", "long_section_alone", "dereference_outside", "exit_inside"}) {
      expect_nothing(run(scenario, environment), scenario);
    }
  }
}

class report_file {
 public:
  report_file()
      : path_(std::filesystem::temp_directory_path() /
              ("readmost-misuse-" + std::to_string(getpid()))) {
    std::filesystem::remove(path_);
  }
  ~report_file() { std::filesystem::remove(path_); }
  report_file(const report_file&) = delete;
  report_file& operator=(const report_file&) = delete;

  std::string path() const { return path_.string(); }
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::filesystem::path path_;
};

TEST(misuse, reports_are_appended_to_the_file_that_is_named) {
  const report_file file;
  for (const char* scenario : {"unlock_without_lock", "barrier_inside"}) {
    expect_nothing(run(scenario, with(on, "READMOST_RCU_CHECK_FILE", file.path())), scenario);
  }
  EXPECT_EQ(reports_in(file.text()), 2U);
  EXPECT_THAT(file.text(), AllOf(HasSubstr("unlock_here"), HasSubstr("barrier_here")));
}

TEST(misuse, reports_go_to_stderr_when_the_file_cannot_be_written) {
  const outcome result =
      run("unlock_without_lock", with(on, "READMOST_RCU_CHECK_FILE", "/nonexistent/file"));
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(reports_in(result.text), 1U);
}

// Each is its headline, the line about its thread, and then nothing but frames, among them that of
// one misuse_number().
void expect_whole_reports(const std::string& text, std::size_t count) {
  EXPECT_EQ(reports_in(text), count) << text;
  std::size_t line_of_report = 0;
  std::size_t places_in_report = 1;
  for (const std::string& line : lines_of(text)) {
    if (line.starts_with(head)) {
      EXPECT_EQ(places_in_report, 1U) << text;
      line_of_report = places_in_report = 0;
    }
    if (line.find("misuse_number") != std::string::npos) ++places_in_report;
    const char* const wanted = line_of_report == 0   ? "^readmost: a read section is closed"
                               : line_of_report == 1 ? "^  thread [0-9]+ \\(.*\\) of process"
                               : line_of_report == 2 ? "^   called in "
                                                     : "^   called by ";
    EXPECT_THAT(line, ContainsRegex(wanted));
    ++line_of_report;
  }
  EXPECT_EQ(places_in_report, 1U) << text;
}

TEST(misuse, reports_of_several_threads_at_once_do_not_mix) {
  expect_whole_reports(run("many_at_once", on).text, 16);
  const report_file file;
  run("many_at_once", with(on, "READMOST_RCU_CHECK_FILE", file.path()));
  expect_whole_reports(file.text(), 16);
}

// --- Warnings, which need not be asked for -------------------------------------------------------

const variables early{{"READMOST_RCU_STALL_LIMIT", "100"}};

TEST(stall, of_a_grace_period_is_reported_once_with_its_reader) {
  const outcome result = run("reader_stays", early);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(reports_in(result.text), 1U) << result.text;
  EXPECT_THAT(result.text,
              ContainsRegex("^readmost: warning: a grace period has been waiting for a reader for "
                            "[0-9]+\\.[0-9]+ s"));
  EXPECT_THAT(result.text,
              ContainsRegex("  thread [0-9]+ \\(worker-3\\) of process [0-9]+, domain 0"));
  EXPECT_THAT(result.text, ContainsRegex("  waiting: [1-9][0-9]* objects, [1-9][0-9]* bytes"));
  EXPECT_THAT(result.text, Not(HasSubstr("entered in")));
}

TEST(stall, of_a_grace_period_names_the_place_where_misuse_is_looked_for) {
  const std::string text = run("reader_stays", with(early, "READMOST_RCU_CHECK", "1")).text;
  EXPECT_EQ(reports_in(text), 1U) << text;
  EXPECT_THAT(text, ContainsRegex("entered in .*enter_the_section"));
}

TEST(stall, is_not_reported_before_its_time_or_against_the_users_will) {
  expect_nothing(run("reader_stays", {}), "10 s are not over");
  expect_nothing(run("reader_stays", {{"READMOST_RCU_STALL_LIMIT", "0"}}), "the environment");
  expect_nothing(run("reader_stays_unreported", early), "the program");
}

TEST(stall, by_a_deleter_is_reported_with_its_name) {
  const outcome result = run("deleter_takes_long", {});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(reports_in(result.text), 1U) << result.text;
  EXPECT_THAT(result.text, ContainsRegex("^readmost: warning: (2 deleters took|a deleter (took|has "
                                         "been running for)) [1-9][0-9]*\\."));
  EXPECT_THAT(result.text, ContainsRegex("  process [0-9]+, domain 0\n  in .*deleter_takes_long"));
}

TEST(stall, of_the_writers_instead_of_a_wait_is_reported) {
  const outcome result = run("backlog_above_its_limit", {});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(reports_in(result.text), 1U) << result.text;
  EXPECT_THAT(result.text, HasSubstr("readmost: warning: the backlog is above its limit"));
  EXPECT_THAT(result.text, ContainsRegex("  waiting: [1-9][0-9]* objects"));
}

TEST(misuse, nothing_is_reported_of_a_program_that_uses_it_right) {
  expect_nothing(run("right_use", with(on, "READMOST_RCU_SECTION_LIMIT", "20000")));
}

}  // namespace
