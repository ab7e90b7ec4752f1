// SPDX-License-Identifier: Apache-2.0
#include "process/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "failure.hpp"
#include "process/program_file.hpp"

namespace readmost::command {
namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto time_to_end_politely = 500ms;

class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() { reset(); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int number() const { return number_; }
  void reset() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

class output_reader {
 public:
  output_reader(int source, std::size_t limit) : source_(source), limit_(limit) {}

  // Reads once; returns false when there is nothing to read, now or ever.
  bool read_some() {
    std::array<char, 65536> buffer;
    const ssize_t count = read(source_, buffer.data(), buffer.size());
    if (count <= 0) {
      if (count == 0) at_end_ = true;
      return false;
    }
    kept_.append(buffer.data(), static_cast<std::size_t>(count));
    // Cuts at twice the limit only, so that the rest is moved rarely.
    if (kept_.size() >= 2 * limit_) cut();
    return true;
  }

  bool at_end() const { return at_end_; }

  void move_into(child_result& result) {
    if (kept_.size() > limit_) cut();
    result.output = std::move(kept_);
    result.output_cut = cut_;
  }

 private:
  void cut() {
    kept_.erase(0, kept_.size() - limit_);
    cut_ = true;
  }

  int source_;
  std::size_t limit_;
  std::string kept_;
  bool at_end_ = false;
  bool cut_ = false;
};

pid_t spawn(const std::filesystem::path& program, std::vector<std::string>& arguments,
            environment& env, int output, const sigset_t& mask) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &mask);

  pid_t child = -1;
  const int error = posix_spawn(&child, program.c_str(), &files, &attributes,
                                argument_pointers(arguments).data(), env.pointers().data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) throw cannot_run(program, error);
  return child;
}

// Leaves the child waitable, so that the kernel cannot reuse the number of its process group.
bool has_ended(pid_t child) {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == child;
}

void end_group(pid_t child) {
  kill(-child, SIGTERM);
  kill(-child, SIGCONT);
  const auto deadline = clock::now() + time_to_end_politely;
  while (!has_ended(child) && clock::now() < deadline) usleep(5000);
}

// Also kills processes that the child left running, which would disturb the next run.
int reap(pid_t child, rusage& used) {
  kill(-child, SIGKILL);
  int status = 0;
  while (wait4(child, &status, 0, &used) < 0 && errno == EINTR) {
  }
  return status;
}

std::chrono::duration<double> duration_of(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

int poll_timeout(clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
  return static_cast<int>(std::clamp<std::chrono::milliseconds::rep>(left.count(), 0, 3'600'000));
}

std::string signal_name(int signal) {
#if defined(__GLIBC__)
  const char* name = sigabbrev_np(signal);
#else
  const char* name = nullptr;  // musl has no names
#endif
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", name);
}

}  // namespace

std::string child_result::problem() const {
  switch (how) {
    case ending::exited:
      return code == 0 ? "" : fmt::format("exited with status {}", code);
    case ending::killed:
      return fmt::format("was killed by {} ({})", signal_name(code), strsignal(code));
    case ending::timed_out:
      return fmt::format("was killed after {:g} seconds", limit.count());
    case ending::interrupted:
      return fmt::format("was interrupted by {}", signal_name(code));
  }
  return "";
}

child_result run_to_end(const std::filesystem::path& program, std::vector<std::string> arguments,
                        environment env, const child_limits& limits) {
  signal_watch signals;
  child_result run = run_child(program, std::move(arguments), std::move(env), limits, signals);
  if (run.how == child_result::ending::interrupted) {
    throw failure(exit_status::signal_base + run.code, "interrupted");
  }
  return run;
}

child_result run_child(const std::filesystem::path& program, std::vector<std::string> arguments,
                       environment env, const child_limits& limits, signal_watch& signals) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw failure("cannot create a pipe for the program's output: {}; raise ulimit -n",
                  std::strerror(errno));
  }
  descriptor reading(ends[0]);
  descriptor writing(ends[1]);
  fcntl(reading.number(), F_SETFL, O_NONBLOCK);

  const auto start = clock::now();
  const auto deadline = start + std::chrono::duration_cast<clock::duration>(limits.time);
  const pid_t child = spawn(program, arguments, env, writing.number(), signals.mask_before());
  writing.reset();

  output_reader output(reading.number(), limits.output);
  child_result result;
  result.limit = limits.time;
  bool ended = false;
  while (!ended) {
    std::array<pollfd, 2> waits{pollfd{signals.descriptor(), POLLIN, 0},
                                pollfd{output.at_end() ? -1 : reading.number(), POLLIN, 0}};
    poll(waits.data(), waits.size(), poll_timeout(deadline));
    result.elapsed = clock::now() - start;
    const int interruption = signals.take_interruption();
    if (interruption != 0) {
      result.how = child_result::ending::interrupted;
      result.code = interruption;
    }
    ended = has_ended(child);
    if (!ended && interruption == 0 && clock::now() >= deadline) {
      result.how = child_result::ending::timed_out;
    }
    if (result.how != child_result::ending::exited) break;
    if (waits[1].revents != 0) output.read_some();
  }
  if (!ended) end_group(child);
  rusage used{};
  const int status = reap(child, used);
  result.cpu_time = duration_of(used.ru_utime) + duration_of(used.ru_stime);

  // A process that left the group may write for ever: read no more than a pipe holds.
  for (int reads = 0; reads < 16 && output.read_some(); ++reads) {
  }
  output.move_into(result);
  if (result.how == child_result::ending::exited) {
    if (WIFSIGNALED(status)) result.how = child_result::ending::killed;
    result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
  }
  return result;
}

}  // namespace readmost::command
