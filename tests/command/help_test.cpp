// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

namespace readmost::command_test {
namespace {

class help : public command {};

TEST_F(help, teaches_the_use_and_fits_a_terminal) {
  const std::vector<std::pair<words, words>> expected{
      {{"--help"},
       {"  run ", "  compare ", "  top ", "  doctor ", "  simulate ", "Examples:", "Exit status",
        "READMOST_LIBRARY"}},
      {{"run", "--help"},
       {"Usage: readmost run [OPTIONS] -- PROGRAM", "--stats[=FILE]", "pass every call on to glibc",
        "\n  brlock-flags ", "Examples:", "127", "READMOST_LIBRARY"}},
      {{"compare", "--help"},
       {"Usage: readmost compare [OPTIONS] -- PROGRAM", "--locks A,B,...\x20", "\n  brlock-flags ",
        "Examples:", "130", "READMOST_LIBRARY"}},
      {{"top", "--help"},
       {"Usage: readmost top [OPTIONS]\n", "-p,--pid PID", "--json", "Examples:", "125"}},
      {{"holders", "--help"},
       {"Usage: readmost holders [OPTIONS]\n", "-p,--pid PID", "--core FILE", "125"}},
      {{"doctor", "--help"},
       {"Usage: readmost doctor [OPTIONS]\n", "--quick", "Exit status", "READMOST_LIBRARY"}},
  };
  for (const auto& [arguments, parts] : expected) {
    const ending end = readmost(arguments);
    EXPECT_EQ(end.code, 0);
    for (const std::string& part : parts) EXPECT_THAT(end.out, HasSubstr(part));
    std::istringstream text(end.out);
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(help, is_a_command_too) {
  EXPECT_EQ(readmost({"help"}).out, readmost({"--help"}).out);
  EXPECT_EQ(readmost({"help", "run"}).out, readmost({"run", "--help"}).out);
  const ending end = readmost({"help", "me"});
  EXPECT_EQ(end.code, 125);
  EXPECT_THAT(end.err, HasSubstr("unknown command or option 'me'"));
}

TEST_F(help, after_the_separator_is_the_program_s_own) {
  EXPECT_EQ(readmost({"run", "--", "printf", "%s", "--help"}).out, "--help");
}

TEST_F(help, knows_the_version) {
  const ending end = readmost({"--version"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.out, std::string("readmost ") + READMOST_VERSION + "\n");
}

}  // namespace
}  // namespace readmost::command_test
