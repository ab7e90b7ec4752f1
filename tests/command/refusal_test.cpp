// SPDX-License-Identifier: Apache-2.0
// Command lines that the command refuses with one line on stderr, which names the value and the
// remedy.
#include "launch.hpp"

namespace readmost::command_test {
namespace {

struct refusal {
  std::string name;  // the test's name
  words arguments;
  int status;
  words parts;  // expected in the line on stderr; FOLDER stands for the test's folder
};

void PrintTo(const refusal& one, std::ostream* out) {
  *out << one.name;
}

class refused : public command, public ::testing::WithParamInterface<refusal> {
 protected:
  refused() {
    write("text", "no program");
    script("script", "");
    write("script", "#!/no/such/interpreter\n");
    script("bench", "echo run >>runs\n");
    write("stats", "of an earlier run");
  }
};

TEST_P(refused, in_one_line) {
  auto [name, arguments, status, parts] = GetParam();
  for (std::string& part : parts) {
    if (part.starts_with("FOLDER/")) part.replace(0, 6, folder.string());
  }
  expect_refusal(arguments, status, parts);
  EXPECT_FALSE(fs::exists(path("runs"))) << "the program has run";
  EXPECT_EQ(read(path("stats")), "of an earlier run");
}

std::vector<refusal> refusals() {
  std::vector<refusal> all{
      {"no_command", {}, 125, {"run, compare", "readmost --help"}},
      {"unknown_command", {"walk", "--", "true"}, 125, {"'walk'", "run, compare"}},
      {"run_unknown_lock",
       {"run", "--lock", "spin", "--", "true"},
       125,
       {"'spin'", "prwlock, pthread, ba, ", "bravo-consensus"}},
      {"run_unknown_preference",
       {"run", "--prefer", "nobody", "--", "true"},
       125,
       {"'nobody'", "reader, writer or phase-fair"}},
      {"run_no_program", {"run"}, 125, {"no program is named", "readmost run -- "}},
      {"run_no_program_but_separator", {"run", "--stats", "--"}, 125, {"no program is named"}},
      {"run_unknown_option",
       {"run", "--lokc", "prwlock", "--", "true"},
       125,
       {"'--lokc'", "--help"}},
      {"run_option_without_value", {"run", "--lock", "--", "true"}, 125, {"--lock", "--help"}},
      {"run_missing_program", {"run", "--", "no-such-program"}, 127, {"'no-such-program' on PATH"}},
      {"run_missing_path", {"run", "--", "./no-such-program"}, 127, {"'./no-such-program'"}},
      {"run_missing_folder", {"run", "--", "/bin/true/x"}, 127, {"'/bin/true/x'"}},
      {"run_empty_name", {"run", "--", ""}, 127, {"empty"}},
      {"run_not_executable", {"run", "--", "./text"}, 126, {"'./text'", "not executable", "chmod"}},
      {"run_directory", {"run", "--", "/tmp"}, 126, {"'/tmp'", "directory"}},
      {"run_missing_interpreter", {"run", "--", "./script"}, 126, {"'./script'", "interpreter"}},
      {"run_unwritable_statistics",
       {"run", "--stats=no/such/folder/stats", "--", "true"},
       125,
       {"FOLDER/no/such/folder/stats", "No such file or directory"}},
      {"run_statistics_into_a_folder", {"run", "--stats=.", "--", "true"}, 125, {"Is a directory"}},
      {"run_missing_program_leaves_statistics_alone",
       {"run", "--stats=stats", "--", "no-such-program"},
       127,
       {"no-such-program"}},
      {"compare_bad_regular_expression",
       {"compare", "--metric", "([0-9]", "--", "true"},
       125,
       {"'([0-9]'", "missing )"}},
      {"compare_empty_metric",
       {"compare", "--metric", "", "--", "true"},
       125,
       {"--metric", "empty"}},
      {"compare_lower_without_metric",
       {"compare", "--lower", "--", "true"},
       125,
       {"--lower", "--metric"}},
      {"compare_unknown_lock",
       {"compare", "--locks", "glibc,spin", "--", "true"},
       125,
       {"'spin'", "glibc, prwlock, pthread, ba, ", "or all"}},
      {"compare_no_program", {"compare", "--runs", "2"}, 125, {"no program"}},
      {"compare_missing_program", {"compare", "--", "no-such-program"}, 127, {"'no-such-program'"}},
      {"compare_not_executable", {"compare", "--", "./text"}, 126, {"'./text'"}},
      {"compare_missing_interpreter",
       {"compare", "--", "./script"},
       126,
       {"./script", "interpreter"}},
      {"compare_unwritable_json",
       {"compare", "--json", "no/such/folder/x.json", "--", "./bench"},
       125,
       {"no/such/folder/x.json", "No such file or directory"}},
      {"top_no_process", {"top"}, 125, {"readmost top: ", "--pid", "--help"}},
      {"top_no_delay", {"top", "-p", "1", "-d", "0"}, 125, {"'0'", "86400"}},
      {"top_program", {"top", "-p", "1", "--", "true"}, 125, {"'-- true'", "--help"}},
      {"doctor_unknown_option", {"doctor", "--fast"}, 2, {"readmost doctor: "}},
      {"doctor_word", {"doctor", "server"}, 2, {"readmost doctor: "}},
      {"doctor_program", {"doctor", "--", "server"}, 2, {"readmost doctor: "}},
  };
  const auto each = [&](const std::string& name, const words& values, const words& before,
                        const words& after, const words& parts) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      refusal one{fmt::format("{}_{}", name, i), before, 125, parts};
      one.arguments.push_back(values[i]);
      one.arguments.insert(one.arguments.end(), after.begin(), after.end());
      one.parts.push_back("'" + values[i] + "'");
      all.push_back(one);
    }
  };
  each("compare_runs", {"0", "-1", "1001", "2.5", "many", ""}, {"compare", "--runs"},
       {"--", "true"}, {"1 to 1000"});
  each("compare_timeout", {"0", "-1", "nan", "100000", "1h"}, {"compare", "--timeout"},
       {"--", "true"}, {"86400"});
  each("top_process", {"0", "-5", "server", "1.5", ""}, {"top", "-p"}, {}, {"--help"});
  return all;
}

INSTANTIATE_TEST_SUITE_P(words, refused, ::testing::ValuesIn(refusals()),
                         [](const auto& info) { return info.param.name; });

class refused_program : public command {};

TEST_F(refused_program, on_the_path_that_is_not_executable_is_named) {
  write("text", "no program");
  environment.push_back("PATH=" + folder.string());
  expect_refusal({"run", "--", "text"}, 126, {path("text").string(), "not executable"});
}

}  // namespace
}  // namespace readmost::command_test
