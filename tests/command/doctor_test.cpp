#include <gmock/gmock.h>
#include <sched.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using json = nlohmann::json;

class doctor : public command {
 protected:
  // Under a filter that answers membarrier as the option says.
  ending without_membarrier(const std::string& option, words arguments) {
    arguments.insert(arguments.begin(), {READMOST_COMMAND, "doctor", "--quick"});
    if (!option.empty()) arguments.insert(arguments.begin(), option);
    executable = READMOST_WITHOUT_MEMBARRIER;
    return readmost(arguments);
  }

  static json report_of(const ending& end) {
    const json report = json::parse(end.out, nullptr, false);
    EXPECT_TRUE(report.is_object()) << end.out << end.err;
    EXPECT_EQ(end.code, report["useful"] == true ? 0 : 1);
    return report;
  }

  // One line for each.
  static std::string findings(const json& report, bool obstacles) {
    std::string text;
    for (const json& found : report["findings"]) {
      if (found["obstacle"] == obstacles) text += found["text"].get<std::string>() + '\n';
    }
    return text;
  }
};

// Takes all CPUs but one from the commands that are started meanwhile.
class one_cpu {
 public:
  one_cpu() {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~one_cpu() { sched_setaffinity(0, sizeof before_, &before_); }
  one_cpu(const one_cpu&) = delete;
  one_cpu& operator=(const one_cpu&) = delete;

 private:
  cpu_set_t before_{};
};

TEST_F(doctor, tells_what_there_is_what_it_costs_and_what_it_means) {
  const ending end = readmost({"doctor", "--quick"});
  EXPECT_EQ(end.code, 0) << end.out << end.err;
  EXPECT_EQ(end.err, "");
  EXPECT_THAT(end.out, AllOf(HasSubstr("This machine\n"), HasSubstr("private expedited: yes"),
                             HasSubstr(READMOST_TEST_LIBRARY), HasSubstr("Costs, nanoseconds"),
                             HasSubstr("membarrier, no other thread"), HasSubstr("Lock and unlock"),
                             HasSubstr("What it means\n"), HasSubstr("reads per write"),
                             HasSubstr("Readers can be passive here.")));
}

TEST_F(doctor, fits_a_terminal) {
  std::istringstream page(readmost({"doctor", "--quick"}).out);
  for (std::string line; std::getline(page, line);) {
    if (line.find(READMOST_TEST_LIBRARY) != std::string::npos) continue;
    EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST_F(doctor, orders_the_figures_of_each_measurement) {
  const json report = report_of(readmost({"doctor", "--quick", "--json"}));
  std::vector<json> left{report["nanoseconds"], report["locks"]};
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
  // Three instructions, two membarriers, and a read and a write of three locks, at the least.
  EXPECT_GE(spreads, 11) << report;
}

TEST_F(doctor, learns_the_version_from_the_library_itself) {
  const json report = report_of(readmost({"doctor", "--quick", "--json"}));
  EXPECT_EQ(report["library"]["path"], READMOST_TEST_LIBRARY);
  EXPECT_EQ(report["library"]["version"], report["readmost"]);
}

TEST_F(doctor, measures_glibc_also_when_it_is_preloaded_itself) {
  environment.push_back(std::string("LD_PRELOAD=") + READMOST_TEST_LIBRARY);
  const json report = report_of(readmost({"doctor", "--quick", "--json"}));
  EXPECT_TRUE(report["locks"]["glibc"].is_object());
  EXPECT_THAT(findings(report, false), Not(HasSubstr("replaces its lock here")));
}

TEST_F(doctor, says_whose_lock_it_measured_instead_of_glibc_s) {
  std::filesystem::copy(READMOST_TEST_LIBRARY, path("other.so"));
  environment.push_back("LD_PRELOAD=" + path("other.so").string());
  const json report = report_of(readmost({"doctor", "--quick", "--json"}));
  EXPECT_THAT(findings(report, false), HasSubstr(path("other.so").string()));
}

TEST_F(doctor, names_the_filter_that_refuses_membarrier) {
  const json report = report_of(without_membarrier("", {"--json"}));
  EXPECT_FALSE(report["useful"]);
  EXPECT_FALSE(report["machine"]["membarrier"]["private_expedited"]);
  EXPECT_EQ(report["machine"]["membarrier"]["query_error"], "Function not implemented");
  EXPECT_EQ(report["machine"]["seccomp_mode"], 2);
  EXPECT_THAT(report["nanoseconds"]["membarrier"], IsEmpty());
  EXPECT_THAT(findings(report, true),
              AllOf(HasSubstr("refused"), HasSubstr("seccomp"), HasSubstr("Admit it")));
}

TEST_F(doctor, tells_a_forbidden_membarrier_from_a_missing_one) {
  const ending end = without_membarrier("--eperm", {});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, AllOf(HasSubstr("refused (Operation not permitted)"), HasSubstr("  ! "),
                             HasSubstr("Readmost is of no use here until")));
}

TEST_F(doctor, survives_a_filter_that_kills_who_asks) {
  const ending end = without_membarrier("--kill", {"--json"});
  const json report = report_of(end);
  EXPECT_TRUE(report["machine"]["membarrier"]["kills"]);
  EXPECT_TRUE(report["locks"]["preloaded"].is_null());
  EXPECT_TRUE(report["locks"]["glibc"].is_object());
  EXPECT_THAT(findings(report, true), HasSubstr("READMOST_LOCK=pthread"));
}

TEST_F(doctor, says_what_to_do_about_a_missing_library) {
  environment = {"READMOST_LIBRARY=/no/such/library.so"};
  const ending end = readmost({"doctor", "--quick"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.out, AllOf(HasSubstr("library        none"), HasSubstr("READMOST_LIBRARY")));
}

TEST_F(doctor, notices_a_library_that_replaces_nothing) {
  environment = {std::string("READMOST_LIBRARY=") + READMOST_IDLE_LIBRARY};
  const json report = report_of(readmost({"doctor", "--quick", "--json"}));
  EXPECT_THAT(findings(report, true), HasSubstr("replaces no lock"));
}

TEST_F(doctor, expects_little_of_one_cpu) {
  const one_cpu meanwhile;
  const json report = report_of(readmost({"doctor", "--quick", "--json"}));
  EXPECT_EQ(report["machine"]["cpus"]["usable"], 1);
  EXPECT_THAT(report["nanoseconds"]["line_transfer"], IsEmpty());
  EXPECT_THAT(report["locks"]["glibc"]["read_together"], IsEmpty());
  EXPECT_THAT(findings(report, false), HasSubstr("may use 1 CPU"));
}

TEST_F(doctor, refuses_what_it_does_not_understand) {
  for (const words& rest : {words{"--fast"}, words{"server"}, words{"--", "server"}}) {
    words arguments{"doctor"};
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    const ending end = readmost(arguments);
    EXPECT_EQ(end.code, 2);
    EXPECT_EQ(end.out, "");
    EXPECT_THAT(end.err, HasSubstr("readmost doctor: "));
  }
}

TEST_F(doctor, says_when_nobody_can_read_the_page) {
  executable = "/bin/sh";
  const ending end = readmost({"-c", "exec \"$0\" doctor --quick > /dev/full", READMOST_COMMAND});
  EXPECT_EQ(end.code, 2);
  EXPECT_THAT(end.err, HasSubstr("cannot write to stdout"));
}

}  // namespace
}  // namespace readmost::command_test
