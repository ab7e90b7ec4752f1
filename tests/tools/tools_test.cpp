// SPDX-License-Identifier: Apache-2.0
// Tools that find races are silent about correct programs over the library's locks and RCU, and
// still find a race in what those do not protect. The library is the one that is shipped, compiled
// for no tool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "run.hpp"

namespace {

using readmost::tools_test::outcome;
using readmost::tools_test::run;
using testing::HasSubstr;
using testing::IsEmpty;

struct way {
  std::string name;
  std::string tool;     // words before the program
  std::string program;  // and what it uses
  bool preloaded;
  std::string finding;  // what the tool says of a race
};

void PrintTo(const way& each, std::ostream* to) {
  *to << each.name;
}

class tool : public testing::TestWithParam<way> {
 protected:
  static outcome observe(const std::string& more) {
    const way& how = GetParam();
    return run((how.preloaded ? "LD_PRELOAD='" READMOST_REAL_LIBRARY "' " : "") + how.tool + " " +
               how.program + more);
  }
};

// Noticed: a lock that does not tell, a lock's own data that is not hidden, an edge that is
// missing.
TEST_P(tool, is_silent_about_a_correct_program) {
  const outcome result = observe("");
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.text, IsEmpty());
}

// Noticed: an edge too many, memory of the program's that is hidden.
TEST_P(tool, finds_a_planted_race) {
  const outcome result = observe(" race");
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.text, HasSubstr(GetParam().finding));
}

std::vector<way> all_ways() {
  std::vector<way> all;
  const std::string sanitized = "'" READMOST_SANITIZED_PROGRAM "' ";
  const std::string race = "WARNING: ThreadSanitizer: data race";
  for (const char* what :
       {"class", "c", "pthread", "rcu", "domains", "containers", "hazard", "bravo"}) {
    all.push_back({std::string("thread_sanitizer_") + what, "", sanitized + what, false, race});
  }
  all.push_back({"thread_sanitizer_preloaded", "", sanitized + "pthread", true, race});
#ifdef READMOST_VALGRIND
  const std::string plain = "'" READMOST_PLAIN_PROGRAM "' ";
  for (const char* name : {"helgrind", "drd"}) {
    const std::string valgrind =
        std::string(READMOST_VALGRIND " -q --error-exitcode=9 --tool=") + name;
    const std::string says = name == std::string("drd") ? "Conflicting" : "Possible data race";
    for (const char* what : {"class", "c"}) {
      all.push_back({std::string(name) + "_" + what, valgrind, plain + what, false, says});
    }
    all.push_back({std::string(name) + "_preloaded", valgrind, plain + "pthread", true, says});
  }
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(every, tool, testing::ValuesIn(all_ways()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
