// SPDX-License-Identifier: Apache-2.0
// Runs the tests and turns a hang into a failure that names the test.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>

#include "configuration.hpp"

namespace {

constexpr unsigned test_deadline = 200;
char running_test[256];

void report_hang(int) {
  const auto say = [](const char* text) {
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(3);
  };
  say("HANG in ");
  say(running_test);
  say(": a call that must return did not\n");
  _exit(3);
}

class watchdog : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    running_test[name.copy(running_test, sizeof running_test - 1)] = '\0';
    alarm(test_deadline);
  }
  void OnTestEnd(const testing::TestInfo&) override { alarm(0); }
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  contract::current();
  signal(SIGALRM, report_hang);
  testing::UnitTest::GetInstance()->listeners().Append(new watchdog);
  const int failed = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0 &&
      !testing::GTEST_FLAG(list_tests)) {
    std::fprintf(stderr, "No test matches --gtest_filter=%s; --gtest_list_tests lists them\n",
                 testing::GTEST_FLAG(filter).c_str());
    return 2;
  }
  return failed;
}
