// SPDX-License-Identifier: Apache-2.0

#include "launch.hpp"
#include "support/one_cpu.hpp"

namespace readmost::command_test {
namespace {

class doctor : public real_command {
 protected:
  // Runs the command under a filter that answers membarrier as the option says.
  ending without_membarrier(const std::string& option, words arguments) {
    arguments.insert(arguments.begin(), {READMOST_COMMAND, "doctor", "--quick"});
    if (!option.empty()) arguments.insert(arguments.begin(), option);
    executable = READMOST_WITHOUT_MEMBARRIER;
    return readmost(arguments);
  }

  json report() const { return report_of(readmost({"doctor", "--quick", "--json"})); }

  static json report_of(const ending& end) {
    const json report = json::parse(end.out, nullptr, false);
    EXPECT_TRUE(report.is_object()) << end.out << end.err;
    EXPECT_EQ(end.code, report["useful"] == true ? 0 : 1);
    return report;
  }

  static std::string in_one_line(const std::string& page) {
    std::istringstream words(page);
    std::string line;
    for (std::string word; words >> word;) line += (line.empty() ? "" : " ") + word;
    return line;
  }

  // The texts of the findings that are obstacles, or of those that are not, one per line.
  static std::string findings(const json& report, bool obstacles) {
    std::string text;
    for (const json& found : report["findings"]) {
      if (found["obstacle"] == obstacles) text += found["text"].get<std::string>() + '\n';
    }
    return text;
  }
};

TEST_F(doctor, fits_80_columns) {
  std::istringstream page(readmost({"doctor", "--quick"}).out);
  for (std::string line; std::getline(page, line);) {
    // A word alone, such as a path, may be wider.
    const std::string words = line.substr(std::min(line.size(), std::size_t{17}));
    const bool is_one_word = words.find(' ') == std::string::npos;
    EXPECT_TRUE(is_one_word || line.size() <= 80) << line;
  }
}

TEST_F(doctor, tells_what_there_is_what_it_costs_and_what_it_means) {
  const ending end = readmost({"doctor", "--quick"});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_EQ(end.err, "");
  EXPECT_THAT(end.out, AllOf(HasSubstr("This machine\n"), HasSubstr("hypervisor     has taken "),
                             HasSubstr(READMOST_REAL_LIBRARY), HasSubstr("Costs, nanoseconds"),
                             HasSubstr("Lock and unlock"), HasSubstr("What it means\n")));
  // Where lines end depends on the figures.
  EXPECT_THAT(in_one_line(end.out),
              AllOf(HasSubstr("private expedited: yes"), HasSubstr("membarrier, no other thread"),
                    HasSubstr("reads per write"), HasSubstr("Readers can be passive here.")));
}

TEST_F(doctor, fits_a_terminal) {
  std::istringstream page(readmost({"doctor", "--quick"}).out);
  for (std::string line; std::getline(page, line);) {
    if (line.find(READMOST_REAL_LIBRARY) != std::string::npos) continue;
    EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(doctor, orders_the_figures_of_each_measurement) {
  const json told = report();
  std::vector<json> left{told["nanoseconds"], told["locks"]};
  int spreads = 0;
  while (!left.empty()) {
    const json some = left.back();
    left.pop_back();
    if (some.contains("median")) {
      ++spreads;
      EXPECT_GT(some["min"], 0) << some;
      EXPECT_LE(some["min"], some["median"]) << some;
      EXPECT_LE(some["median"], some["max"]) << some;
    } else if (some.is_structured()) {
      left.insert(left.end(), some.begin(), some.end());
    }
  }
  // At least three instructions, two membarriers, and a read and a write of each of three locks.
  EXPECT_GE(spreads, 11) << told;
}

TEST_F(doctor, learns_the_version_from_the_library_itself) {
  const json told = report();
  EXPECT_EQ(told["library"]["path"], READMOST_REAL_LIBRARY);
  EXPECT_EQ(told["library"]["version"], told["readmost"]);
}

TEST_F(doctor, measures_glibc_also_when_it_is_preloaded_itself) {
  environment.push_back(std::string("LD_PRELOAD=") + READMOST_REAL_LIBRARY);
  const json told = report();
  EXPECT_TRUE(told["locks"]["glibc"].is_object());
  EXPECT_THAT(findings(told, false), Not(HasSubstr("replaces its lock here")));
}

TEST_F(doctor, says_whose_lock_it_measured_instead_of_glibc_s) {
  fs::copy(READMOST_REAL_LIBRARY, path("other.so"));
  environment.push_back("LD_PRELOAD=" + path("other.so").string());
  const json told = report();
  EXPECT_THAT(findings(told, false), HasSubstr(path("other.so").string()));
}

TEST_F(doctor, names_the_filter_that_refuses_membarrier) {
  const json told = report_of(without_membarrier("", {"--json"}));
  EXPECT_TRUE(told["useful"]);
  EXPECT_FALSE(told["machine"]["membarrier"]["private_expedited"]);
  EXPECT_EQ(told["machine"]["membarrier"]["query_error"], "Function not implemented");
  EXPECT_EQ(told["machine"]["seccomp_mode"], 2);
  EXPECT_THAT(told["nanoseconds"]["membarrier"], IsEmpty());
  EXPECT_THAT(findings(told, false), AllOf(HasSubstr("refused"), HasSubstr("seccomp"),
                                           HasSubstr("execute a fence"), HasSubstr("Admit it")));
}

TEST_F(doctor, tells_a_forbidden_membarrier_from_a_missing_one) {
  const ending end = without_membarrier("--eperm", {});
  EXPECT_EQ(end.code, 0);
  EXPECT_THAT(end.out, AllOf(HasSubstr("refused (Operation not permitted)"), HasSubstr("  - "),
                             Not(HasSubstr("Readmost is of no use here until"))));
}

TEST_F(doctor, survives_a_filter_that_kills_who_asks) {
  const ending end = without_membarrier("--kill", {"--json"});
  const json told = report_of(end);
  EXPECT_TRUE(told["machine"]["membarrier"]["kills"]);
  EXPECT_TRUE(told["locks"]["preloaded"].is_null());
  EXPECT_TRUE(told["locks"]["glibc"].is_object());
  EXPECT_THAT(findings(told, true), HasSubstr("start programs without the library"));
}

TEST_F(doctor, says_what_to_do_about_a_missing_library) {
  environment = {"READMOST_LIBRARY=/no/such/library.so"};
  const ending end = readmost({"doctor", "--quick"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, AllOf(HasSubstr("library        none"), HasSubstr("READMOST_LIBRARY")));
}

TEST_F(doctor, notices_a_library_that_replaces_nothing) {
  environment = {std::string("READMOST_LIBRARY=") + READMOST_IDLE_LIBRARY};
  const json told = report();
  EXPECT_THAT(findings(told, true), HasSubstr("replaces no lock"));
}

TEST_F(doctor, expects_little_of_one_cpu) {
  const test::one_cpu meanwhile;
  const json told = report();
  EXPECT_EQ(told["machine"]["cpus"]["usable"], 1);
  EXPECT_THAT(told["nanoseconds"]["line_transfer"], IsEmpty());
  EXPECT_THAT(told["locks"]["glibc"]["read_together"], IsEmpty());
  EXPECT_THAT(findings(told, false), HasSubstr("may use 1 CPU"));
}

TEST_F(doctor, says_when_nobody_can_read_the_page) {
  executable = "/bin/sh";
  const ending end = readmost({"-c", "exec \"$0\" doctor --quick > /dev/full", READMOST_COMMAND});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, HasSubstr("cannot write to stdout"));
}

}  // namespace
}  // namespace readmost::command_test
