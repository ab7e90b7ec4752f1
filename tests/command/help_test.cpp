#include <gmock/gmock.h>

#include <sstream>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class help : public command {};

TEST_F(help, of_the_command_names_all_commands) {
  const ending end = readmost({"--help"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, AllOf(HasSubstr("  run "), HasSubstr("  compare "), HasSubstr("  top "),
                             HasSubstr("  doctor "), HasSubstr("Examples:"),
                             HasSubstr("Exit status"), HasSubstr("READMOST_LIBRARY")));
}

TEST_F(help, of_run_teaches_its_use) {
  const ending end = readmost({"run", "--help"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, AllOf(HasSubstr("Usage: readmost run [OPTIONS] -- PROGRAM"),
                             HasSubstr("--stats[=FILE]"), HasSubstr("pass every call on to glibc"),
                             HasSubstr("\n  brlock-flags "), HasSubstr("Examples:"),
                             HasSubstr("127"), HasSubstr("READMOST_LIBRARY")));
}

TEST_F(help, of_compare_teaches_its_use) {
  const ending end = readmost({"compare", "--help"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("Usage: readmost compare [OPTIONS] -- PROGRAM"),
                    HasSubstr("--locks A,B,...\x20"), HasSubstr("\n  brlock-flags "),
                    HasSubstr("Examples:"), HasSubstr("130"), HasSubstr("READMOST_LIBRARY")));
}

TEST_F(help, of_top_teaches_its_use) {
  const ending end = readmost({"top", "--help"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out,
              AllOf(HasSubstr("Usage: readmost top [OPTIONS]\n"), HasSubstr("-p,--pid PID"),
                    HasSubstr("--json"), HasSubstr("Examples:"), HasSubstr("125")));
}

TEST_F(help, of_doctor_teaches_its_use) {
  const ending end = readmost({"doctor", "--help"});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, AllOf(HasSubstr("Usage: readmost doctor [OPTIONS]\n"), HasSubstr("--quick"),
                             HasSubstr("Exit status"), HasSubstr("READMOST_LIBRARY")));
}

TEST_F(help, after_the_separator_is_the_program_s_own) {
  EXPECT_EQ(readmost({"run", "--", "printf", "%s", "--help"}).out, "--help");
}

TEST_F(help, fits_a_terminal) {
  for (const words& arguments :
       {words{"--help"}, words{"run", "--help"}, words{"compare", "--help"}, words{"top", "--help"},
        words{"doctor", "--help"}}) {
    std::istringstream text(readmost(arguments).out);
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(help, knows_the_version) {
  const ending end = readmost({"--version"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.out, std::string("readmost ") + READMOST_VERSION + "\n");
}

TEST_F(help, is_offered_when_no_command_is_given) {
  const ending end = readmost({});
  EXPECT_EQ(end.code, 125);
  EXPECT_THAT(end.err, AllOf(HasSubstr("run, compare"), HasSubstr("readmost --help")));
}

TEST_F(help, is_offered_for_an_unknown_command) {
  const ending end = readmost({"walk", "--", "true"});
  EXPECT_EQ(end.code, 125);
  EXPECT_THAT(end.err, AllOf(HasSubstr("'walk'"), HasSubstr("run, compare")));
}

}  // namespace
}  // namespace readmost::command_test
