// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

namespace readmost::command_test {
namespace {

class run : public command {};

TEST_F(run, keeps_the_exit_status_of_the_program) {
  const ending end = readmost({"run", "--", "sh", "-c", "exit 42"});
  EXPECT_TRUE(end.exited);
  EXPECT_EQ(end.code, 42);
  EXPECT_EQ(end.err, "");
}

TEST_F(run, dies_of_the_signal_that_kills_the_program) {
  const ending end = readmost({"run", "--", "sh", "-c", "kill -USR1 $$"});
  EXPECT_FALSE(end.exited);
  EXPECT_EQ(end.code, SIGUSR1);
}

TEST_F(run, becomes_the_program_under_the_same_process_id) {
  const ending end = readmost({"run", "--", "sh", "-c", "echo $$"});
  EXPECT_EQ(end.out, std::to_string(end.pid) + "\n");
}

TEST_F(run, leaves_stdin_to_the_program) {
  input = "some text\n";
  EXPECT_EQ(readmost({"run", "--", "cat"}).out, "some text\n");
}

TEST_F(run, hands_arguments_on_as_they_are) {
  const ending end =
      readmost({"run", "--", "printf", "[%s]", "two words", "", "--lock", "--", "*"});
  EXPECT_EQ(end.out, "[two words][][--lock][--][*]");
}

TEST_F(run, understands_a_program_without_the_separator) {
  const ending end = readmost({"run", "--lock", "pthread", "printf", "[%s]", "--stats", "--", "x"});
  EXPECT_EQ(end.out, "[--stats][--][x]");
}

TEST_F(run, loads_the_library_into_the_program) {
  const ending end = readmost({"run", "--", "cat", "/proc/self/maps"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, HasSubstr(READMOST_IDLE_LIBRARY));
}

TEST_F(run, puts_the_library_before_what_is_preloaded_already) {
  environment.push_back("LD_PRELOAD=libc.so.6:libm.so.6");
  const ending end = readmost({"run", "--", "sh", "-c", "echo $LD_PRELOAD"});
  EXPECT_EQ(end.out, std::string(READMOST_IDLE_LIBRARY) + ":libc.so.6:libm.so.6\n");
}

TEST_F(run, makes_a_relative_library_path_absolute) {
  fs::copy(READMOST_IDLE_LIBRARY, path("mine.so"));
  environment = {"READMOST_LIBRARY=mine.so"};
  const ending end = readmost({"run", "--", "sh", "-c", "echo $LD_PRELOAD"});
  EXPECT_EQ(end.out, path("mine.so").string() + "\n");
}

TEST_F(run, says_nothing_to_the_library_unless_asked) {
  EXPECT_THAT(readmost({"run", "--", "env"}).out,
              Not(::testing::AnyOf(HasSubstr("READMOST_LOCK"), HasSubstr("READMOST_PREFER"),
                                   HasSubstr("READMOST_STATS"))));
}

TEST_F(run, passes_its_options_to_the_library) {
  environment.push_back("READMOST_LOCK=prwlock");
  environment.push_back("READMOST_PREFER=reader");
  const ending end =
      readmost({"run", "--lock", "pthread", "--prefer", "writer", "--stats", "--", "env"});
  EXPECT_THAT(end.out, HasSubstr("READMOST_LOCK=pthread\n"));
  EXPECT_THAT(end.out, HasSubstr("READMOST_PREFER=writer\n"));
  EXPECT_THAT(end.out, HasSubstr("READMOST_STATS=1\n"));
  EXPECT_THAT(end.out, Not(HasSubstr("READMOST_LOCK=prwlock")));
}

TEST_F(run, empties_the_statistics_file_and_makes_its_path_absolute) {
  write("stats.json", "of an earlier run");
  const ending end = readmost({"run", "--stats=stats.json", "--", "env"});
  EXPECT_THAT(end.out, HasSubstr("READMOST_STATS=" + path("stats.json").string() + "\n"));
  EXPECT_TRUE(fs::exists(path("stats.json")));
  EXPECT_EQ(read(path("stats.json")), "");
}

TEST_F(run, accepts_the_preference_that_is_the_default) {
  EXPECT_THAT(readmost({"run", "--prefer", "kind", "--", "env"}).out,
              HasSubstr("READMOST_PREFER=kind\n"));
}

TEST_F(run, does_not_take_the_program_for_the_statistics_file) {
  const ending end = readmost({"run", "--stats", "printf", "hello"});
  EXPECT_EQ(end.out, "hello");
}

TEST_F(run, warns_about_a_statically_linked_program_and_runs_it) {
  const ending end = readmost({"run", "--", READMOST_STATIC_PROGRAM});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.out, "static\n");
  EXPECT_THAT(end.err, StartsWith("readmost: warning: '"));
  EXPECT_THAT(end.err, HasSubstr("statically linked"));
  EXPECT_EQ(std::ranges::count(end.err, '\n'), 1);
}

TEST_F(run, warns_about_a_script_whose_interpreter_is_statically_linked) {
  write("script", std::string("#!") + READMOST_STATIC_PROGRAM + "\n");
  fs::permissions(path("script"), fs::perms::owner_all);
  const ending end = readmost({"run", "--", "./script"});
  EXPECT_EQ(end.out, "static\n");
  EXPECT_THAT(end.err, HasSubstr("statically linked"));
}

TEST_F(run, warns_about_a_program_that_gains_rights_and_runs_it) {
  // Only root can create such a file; other users test with su.
  std::string program = "/bin/su";
  if (geteuid() == 0) {
    program = path("set_user_id").string();
    fs::copy("/bin/true", program);
    ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  }
  const ending end = readmost({"run", "--", program, "--version"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.err, HasSubstr("'" + program + "' is set-user-ID"));
}

TEST_F(run, hands_a_script_without_an_interpreter_line_to_sh) {
  write("plain", "echo plain $1\n");
  fs::permissions(path("plain"), fs::perms::owner_all);
  EXPECT_EQ(readmost({"run", "--", "./plain", "script"}).out, "plain script\n");
}

}  // namespace
}  // namespace readmost::command_test
