#include "simulation/own_process.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace readmost::simulation {

namespace {

constexpr char finished = '+';
constexpr char threw = '-';

[[noreturn]] void fail(const char* call) {
  throw std::runtime_error(std::string(call) + ": " + std::strerror(errno));
}

[[noreturn]] void answer(int to, const std::function<std::string()>& work) {
  std::string text;
  try {
    text = finished + work();
  } catch (const std::exception& problem) {
    text = threw + std::string(problem.what());
  }
  for (std::size_t written = 0; written < text.size();) {
    const ssize_t some = write(to, text.data() + written, text.size() - written);
    if (some < 0 && errno != EINTR) break;
    if (some > 0) written += static_cast<std::size_t>(some);
  }
  _exit(0);
}

}  // namespace

std::string in_own_process(const std::function<std::string()>& work) {
  int ends[2];
  if (pipe(ends) != 0) fail("pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    close(ends[0]);
    answer(ends[1], work);
  }
  close(ends[1]);
  std::string text;
  char buffer[65536];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (text.empty() || status != 0) throw std::runtime_error("the process of a run has died");
  if (text.front() == threw) throw std::runtime_error(text.substr(1));
  return text.substr(1);
}

}  // namespace readmost::simulation
