// SPDX-License-Identifier: Apache-2.0
#include "process/attended.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "failure.hpp"
#include "process/program_file.hpp"

namespace readmost::command {
namespace {

constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// Blocks the signals of interest; one that was ignored when this process started (nohup) stays so.
class blocked_signals {
 public:
  blocked_signals() {
    // With an inherited SIG_IGN the kernel would reap the program before we can.
    std::signal(SIGCHLD, SIG_DFL);
    sigemptyset(&set_);
    sigaddset(&set_, SIGCHLD);
    for (const int signal : passed_on) {
      struct sigaction action{};
      if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_IGN) {
        sigaddset(&set_, signal);
      }
    }
    sigprocmask(SIG_BLOCK, &set_, &before_);
  }
  ~blocked_signals() { restore(); }
  blocked_signals(const blocked_signals&) = delete;
  blocked_signals& operator=(const blocked_signals&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  int wait(siginfo_t& about) const { return sigwaitinfo(&set_, &about); }

 private:
  sigset_t set_;
  sigset_t before_;
};

}  // namespace

int run_attended(const std::filesystem::path& program, std::vector<std::string> words,
                 environment env) {
  const std::vector<char*> arguments = argument_pointers(words);
  const std::vector<char*> variables = env.pointers();
  const blocked_signals signals;
  int refusal[2];
  if (pipe2(refusal, O_CLOEXEC) != 0) {
    throw failure("cannot create a pipe: {}; raise ulimit -n", std::strerror(errno));
  }
  const pid_t child = fork();
  if (child < 0) throw failure("cannot start a process: {}", std::strerror(errno));
  if (child == 0) {
    signals.restore();
    // As a shell does, it hands a script without a #! line to sh.
    execvpe(program.c_str(), arguments.data(), variables.data());
    const int error = errno;
    const ssize_t told = write(refusal[1], &error, sizeof error);
    _exit(told == sizeof error ? exit_status::not_executable : exit_status::own_failure);
  }
  close(refusal[1]);
  int error = 0;
  const bool refused = read(refusal[0], &error, sizeof error) == sizeof error;
  close(refusal[0]);
  int status = 0;
  if (refused) {
    waitpid(child, &status, 0);
    throw cannot_run(program, error);
  }
  for (;;) {
    if (waitpid(child, &status, WNOHANG) == child) return status;
    siginfo_t about{};
    const int signal = signals.wait(about);
    // What the terminal sends goes to the program as well.
    if (signal > 0 && signal != SIGCHLD && about.si_code != SI_KERNEL) kill(child, signal);
  }
}

void end_like(int status) {
  if (WIFSIGNALED(status)) {
    // The core is the program's.
    constexpr rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
    std::exit(exit_status::signal_base + WTERMSIG(status));
  }
  std::exit(WEXITSTATUS(status));
}

}  // namespace readmost::command
