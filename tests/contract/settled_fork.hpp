// fork(2) for tests. gcc's AddressSanitizer leaves its allocator locked in the child when another
// thread was in it at the fork, as each is that starts: under it, threads get the time to do so,
// and do not allocate beside forks later on.
#pragma once

#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sys/syscall.h>
#include <time.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#endif

namespace contract {

#if defined(__SANITIZE_ADDRESS__)

// Whether a thread of this process sleeps, or is older than any thread that still starts.
inline bool is_settled(const std::filesystem::path& task) {
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
inline void await_settled_threads() {
  const std::string self = std::to_string(syscall(SYS_gettid));
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    while (task.path().filename() != self && !is_settled(task.path())) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

inline pid_t settled_fork() {
  static std::mutex one_by_one;
  static thread_local int depth = 0;  // a fork handler may fork
  if (depth++ == 0) one_by_one.lock();
  await_settled_threads();
  const pid_t child = fork();
  if (--depth == 0) one_by_one.unlock();  // in the child too, which does not own a recursive one
  return child;
}

#else

inline pid_t settled_fork() {
  return fork();
}

#endif

}  // namespace contract
