// SPDX-License-Identifier: Apache-2.0
// Programs make no system call because of the library but those that docs/using.md and `doctor`
// name for filters that kill.
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

const std::map<std::string, long> named{
    {"membarrier", SYS_membarrier},
    {"futex", SYS_futex},
    {"sched_yield", SYS_sched_yield},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"getpriority", SYS_getpriority},
    {"clock_nanosleep", SYS_clock_nanosleep},
    {"mmap", SYS_mmap},
    {"munmap", SYS_munmap},
    {"mincore", SYS_mincore},
    {"getpid", SYS_getpid},
    {"gettid", SYS_gettid},
    {"rt_sigprocmask", SYS_rt_sigprocmask},
    {"openat", SYS_openat},
    {"read", SYS_read},
    {"pread64", SYS_pread64},
    {"newfstatat", SYS_newfstatat},
    {"ioctl", SYS_ioctl},
    {"close", SYS_close},
    {"write", SYS_write},
    {"fallocate", SYS_fallocate},
    {"clone3", SYS_clone3},
    {"clone", SYS_clone},
    {"prctl", SYS_prctl},
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"sched_setscheduler", SYS_sched_setscheduler},
    {"setpriority", SYS_setpriority},
};

// The numbers of the calls that a program and its threads make.
std::set<long> calls_of(const std::string& file, const std::string& argument,
                        const words& variables) {
  const pid_t program = fork();
  if (program == 0) {
    for (const std::string& each : variables) putenv(strdup(each.c_str()));
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    execl(file.c_str(), file.c_str(), argument.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(program, &status, 0);
  ptrace(PTRACE_SETOPTIONS, program, nullptr,
         PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
  ptrace(PTRACE_SYSCALL, program, nullptr, nullptr);
  std::set<long> calls;
  int end = -1;
  for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (thread == program) end = status;
      continue;
    }
    int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info info{};
      ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info);
      if (info.op == PTRACE_SYSCALL_INFO_ENTRY) calls.insert(static_cast<long>(info.entry.nr));
    }
    // New threads begin with SIGSTOP.
    if ((signal & 0x7f) == SIGTRAP || signal == SIGSTOP) signal = 0;
    ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
  }
  EXPECT_EQ(end, 0) << file;
  return calls;
}

class system_calls : public real_command {
 protected:
  void expect_named(const std::set<long>& calls) {
    for (const long each : calls) {
      const bool is_named =
          std::ranges::any_of(named, [=](auto& one) { return one.second == each; });
      EXPECT_TRUE(is_named || of_program.contains(each)) << "system call " << each;
    }
  }

  std::set<long> of_program = calls_of(READMOST_CONTENDED_PROGRAM, "return", {});
  const std::string preload = std::string("LD_PRELOAD=") + READMOST_REAL_LIBRARY;
};

class system_calls_of_the_preloaded_library : public system_calls,
                                              public ::testing::WithParamInterface<words> {};

TEST_P(system_calls_of_the_preloaded_library, are_named) {
  words variables = GetParam();
  for (std::string& each : variables) {
    if (each.ends_with('/')) each += folder.string().substr(1) + "/of.json";
  }
  variables.push_back(preload);
  const std::set<long> calls = calls_of(READMOST_CONTENDED_PROGRAM, "return", variables);
  EXPECT_TRUE(calls.contains(SYS_membarrier));
  expect_named(calls);
}

INSTANTIATE_TEST_SUITE_P(settings, system_calls_of_the_preloaded_library,
                         ::testing::Values(words{},
                                           words{"READMOST_STATS_BACKTRACE=1", "READMOST_STATS=/"},
                                           words{"READMOST_PROFILE=1"}));

TEST_F(system_calls, of_the_check_are_named) {
  of_program.merge(calls_of(READMOST_RWLOCK_PROGRAM, "0", {}));
  expect_named(calls_of(READMOST_RWLOCK_PROGRAM, "0", {preload, "READMOST_LOCK_CHECK=1"}));
}

TEST_F(system_calls, of_a_profile_in_a_file_are_named) {
  expect_named(calls_of(READMOST_CONTENDED_PROGRAM, "return",
                        {preload, "READMOST_PROFILE=" + folder.string()}));
}

TEST_F(system_calls, of_rcu_are_named) {
  const std::set<long> calls = calls_of(READMOST_OBSERVED_PROGRAM, "rcu", {});
  EXPECT_TRUE(calls.contains(SYS_setpriority)) << "it has a thread";
  expect_named(calls);
}

TEST_F(system_calls, are_all_told) {
  std::ifstream file(READMOST_USING);
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::string sandboxes = page.substr(page.find("**Sandboxes.**"));
  executable = READMOST_WITHOUT_MEMBARRIER;
  const std::string told =
      readmost({"--kill", READMOST_COMMAND, "doctor", "--quick", "--json"}).out;
  for (const auto& [name, number] : named) {
    EXPECT_THAT(sandboxes.substr(0, sandboxes.find("\n- ")), HasSubstr('`' + name));
    EXPECT_THAT(told, ContainsRegex("[ (]" + name + "[ ,;).(]"));
  }
}

}  // namespace
}  // namespace readmost::command_test
