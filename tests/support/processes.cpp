// SPDX-License-Identifier: Apache-2.0
#include "support/processes.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "support/sanitizers.hpp"

#if UNDER_ADDRESS_SANITIZER
#include <time.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#endif

namespace test {

#if UNDER_ADDRESS_SANITIZER

namespace {

// Whether a thread of this process sleeps, or is older than any thread that still starts.
bool is_settled(const std::filesystem::path& task) {
  std::ifstream file(task / "stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return true;  // it has ended
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  fields >> field;
  if (field != "R" && field != "D") return true;
  constexpr int started = 22;  // as proc(5) counts; the state is 3
  for (int i = 4; i <= started; ++i) fields >> field;
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<double>(now.tv_sec) -
             std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK)) >
         1;
}

// Allocates, so it is for one thread at a time, and that forks before the next.
void await_settled_threads() {
  const std::string self = std::to_string(gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    while (task.path().filename() != self && !is_settled(task.path())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

}  // namespace

pid_t settled_fork() {
  static std::mutex one_by_one;
  static thread_local int depth = 0;  // a fork handler may fork
  if (depth++ == 0) one_by_one.lock();
  await_settled_threads();
  const pid_t child = fork();
  if (--depth == 0) one_by_one.unlock();  // in the child too, which does not own a recursive one
  return child;
}

#else

pid_t settled_fork() {
  return fork();
}

#endif

child_process::child_process(const std::function<void()>& body) {
  std::fflush(nullptr);
  id_ = settled_fork();
  if (id_ != 0) return;
  alarm(child_deadline);
  body();
  std::fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

void child_process::wait() {
  if (waited_) return;
  waited_ = true;
  ASSERT_GT(id_, 0) << "fork failed";
  int status = 0;
  ASSERT_EQ(waitpid(id_, &status, 0), id_);
  EXPECT_TRUE(WIFEXITED(status)) << "the child was killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the child failed or hung";
}

void steps::await(int step) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(15);
  while (step_.load() < step) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "step " << step << " never came";
    sched_yield();
  }
}

}  // namespace test
