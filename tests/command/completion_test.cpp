// SPDX-License-Identifier: Apache-2.0
// Completion of the command's words, and the files by which shells ask for it.
#include "launch.hpp"

namespace readmost::command_test {
namespace {

class completion : public command {
 protected:
  // What the last of the words may become.
  words of(words typed) const {
    typed.insert(typed.begin(), "--complete");
    const ending end = readmost(typed);
    EXPECT_EQ(end.code, 0) << end.err;
    return lines_of(end.out);
  }

  static words lines_of(const std::string& text) {
    words lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  // The lines that a shell's script prints, with the command first in the path.
  words shell(const std::string& name, const words& arguments) {
    executable = name;
    environment = {"PATH=" + fs::path(READMOST_COMMAND).parent_path().string() + ":/usr/bin:/bin",
                   "HOME=" + folder.string()};
    const ending end = wait(start(arguments));
    EXPECT_EQ(end.err, "");
    executable = READMOST_COMMAND;
    return lines_of(end.out);
  }

  words bash(const std::string& line, const std::string& split_words) {
    const std::string script = fmt::format(
        "source {}/readmost.bash; COMP_LINE='{}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({}); "
        "COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _readmost; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        READMOST_COMPLETIONS, line, split_words);
    return shell("/bin/bash", {"--norc", "-c", script});
  }
};

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;

TEST_F(completion, names_commands_options_and_values) {
  EXPECT_THAT(of({"co"}), ElementsAre("compare"));
  EXPECT_THAT(of({""}), ::testing::IsSupersetOf({"run", "top", "help", "simulate"}));
  EXPECT_THAT(of({"help", "do"}), ElementsAre("doctor"));
  EXPECT_THAT(of({"run", "--pre"}), ElementsAre("--prefer"));
  EXPECT_THAT(of({"run", "--prefer", ""}), ElementsAre("kind", "phase-fair", "reader", "writer"));
  EXPECT_THAT(of({"run", "--prefer=w"}), ElementsAre("--prefer=writer"));
  EXPECT_THAT(of({"compare", "--locks", "glibc,brl"}),
              ElementsAre("glibc,brlock", "glibc,brlock-flags"));
}

TEST_F(completion, offers_nothing_where_files_and_programs_belong) {
  EXPECT_THAT(of({"run", "--", "--pre"}), IsEmpty());
  EXPECT_THAT(of({"compare", "--json", ""}), IsEmpty());
  EXPECT_THAT(of({"nothing", "--"}), IsEmpty());
  EXPECT_THAT(of({"doctor", "--only"}), IsEmpty()) << "hidden";
}

TEST_F(completion, knows_options_that_other_programs_parse) {
  EXPECT_THAT(of({"simulate", "--mach"}), Contains("--machine"));
  EXPECT_THAT(of({"simulate", "--"}), Each(StartsWith("--")));
}

TEST_F(completion, works_in_bash) {
  EXPECT_THAT(bash("readmost co", "readmost co"), ElementsAre("compare"));
  EXPECT_THAT(bash("readmost run --prefer ", "readmost run --prefer ''"),
              ElementsAre("kind", "phase-fair", "reader", "writer"));
  // bash makes three words of --prefer=w, and replaces the last.
  EXPECT_THAT(bash("readmost run --prefer=w", "readmost run --prefer = w"), ElementsAre("writer"));
  EXPECT_THAT(bash("readmost run --prefer=", "readmost run --prefer ="),
              ElementsAre("kind", "phase-fair", "reader", "writer"));
}

TEST_F(completion, works_in_fish) {
  const auto fish = [&](const std::string& line) {
    words found = shell("/usr/bin/fish", {"--no-config", "-c",
                                          fmt::format("source {}/readmost.fish; complete -C '{}'",
                                                      READMOST_COMPLETIONS, line)});
    return found;
  };
  EXPECT_THAT(fish("readmost co"), Contains("compare"));
  EXPECT_THAT(fish("readmost run --prefer "), ::testing::IsSupersetOf({"reader", "writer"}));
}

TEST_F(completion, works_in_zsh) {
  const auto zsh = [&](const std::string& typed, int current) {
    return shell(
        "/usr/bin/zsh",
        {"-f", "-c",
         fmt::format("compadd() {{ shift; print -l -- \"$@\" }}; _files() {{ print files }}; "
                     "_normal() {{ print normal $CURRENT $words }}; words=({}); CURRENT={}; "
                     "source {}/_readmost",
                     typed, current, READMOST_COMPLETIONS)});
  };
  EXPECT_THAT(zsh("readmost co", 2), ElementsAre("compare"));
  EXPECT_THAT(zsh("readmost run --prefer ''", 4),
              ElementsAre("kind", "phase-fair", "reader", "writer"));
  EXPECT_THAT(zsh("readmost compare --json ''", 4), ElementsAre("files"));
  EXPECT_THAT(zsh("readmost run -- ls -l", 5), ElementsAre("normal 2 ls -l"));
}

}  // namespace
}  // namespace readmost::command_test
