#include <gmock/gmock.h>

#include <algorithm>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

using ::testing::HasSubstr;

class run_failure : public command {
 protected:
  void expect_one_line(const words& arguments, int status, const words& parts) {
    const ending end = readmost(arguments);
    EXPECT_TRUE(end.exited);
    EXPECT_EQ(end.code, status);
    EXPECT_EQ(end.out, "");
    EXPECT_EQ(std::ranges::count(end.err, '\n'), 1) << end.err;
    for (const std::string& part : parts) EXPECT_THAT(end.err, HasSubstr(part));
  }
};

TEST_F(run_failure, lists_the_locks_when_a_name_is_wrong) {
  expect_one_line({"run", "--lock", "spin", "--", "true"}, 125,
                  {"'spin'", "prwlock, pthread, ba, ", "bravo-consensus"});
}

TEST_F(run_failure, lists_the_preferences_when_a_name_is_wrong) {
  expect_one_line({"run", "--prefer", "nobody", "--", "true"}, 125,
                  {"'nobody'", "reader, writer or phase-fair"});
}

TEST_F(run_failure, asks_for_a_program) {
  expect_one_line({"run"}, 125, {"no program is named", "readmost run -- "});
  expect_one_line({"run", "--stats", "--"}, 125, {"no program is named"});
}

TEST_F(run_failure, names_an_unknown_option) {
  expect_one_line({"run", "--lokc", "prwlock", "--", "true"}, 125, {"'--lokc'", "--help"});
}

TEST_F(run_failure, names_an_option_without_its_value) {
  expect_one_line({"run", "--lock", "--", "true"}, 125, {"--lock", "--help"});
}

TEST_F(run_failure, says_127_for_a_missing_program) {
  expect_one_line({"run", "--", "no-such-program"}, 127, {"'no-such-program' on PATH"});
  expect_one_line({"run", "--", "./no-such-program"}, 127, {"'./no-such-program'"});
  expect_one_line({"run", "--", "/bin/true/x"}, 127, {"'/bin/true/x'"});
  expect_one_line({"run", "--", ""}, 127, {"empty"});
}

TEST_F(run_failure, says_126_for_what_cannot_be_executed) {
  write("text", "no program");
  expect_one_line({"run", "--", "./text"}, 126, {"'./text'", "not executable", "chmod"});
  expect_one_line({"run", "--", "/tmp"}, 126, {"'/tmp'", "directory"});
  environment.push_back("PATH=" + folder.string());
  expect_one_line({"run", "--", "text"}, 126, {path("text").string(), "not executable"});
}

TEST_F(run_failure, says_126_for_a_missing_interpreter) {
  write("script", "#!/no/such/interpreter\n");
  std::filesystem::permissions(path("script"), std::filesystem::perms::owner_all);
  expect_one_line({"run", "--", "./script"}, 126, {"'./script'", "interpreter"});
}

TEST_F(run_failure, refuses_a_statistics_file_that_cannot_be_written) {
  expect_one_line({"run", "--stats=no/such/folder/stats", "--", "true"}, 125,
                  {path("no/such/folder/stats").string(), "No such file or directory"});
  expect_one_line({"run", "--stats=.", "--", "true"}, 125, {"Is a directory"});
}

TEST_F(run_failure, does_not_empty_the_statistics_file_when_there_is_no_program) {
  write("stats", "of an earlier run");
  expect_one_line({"run", "--stats=stats", "--", "no-such-program"}, 127, {"no-such-program"});
  EXPECT_EQ(read(path("stats")), "of an earlier run");
}

}  // namespace
}  // namespace readmost::command_test
