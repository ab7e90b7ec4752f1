// SPDX-License-Identifier: Apache-2.0
#include "process/inspected.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "failure.hpp"

namespace readmost::command {

inspected_process::inspected_process(pid_t pid) : pid_(pid), folder_(fmt::format("/proc/{}", pid)) {
  std::getline(std::ifstream(folder_ + "/cmdline"), program_, '\0');
  if (program_.empty()) std::getline(std::ifstream(folder_ + "/comm"), program_);
}

std::string inspected_process::maps() const {
  std::ifstream file(folder_ + "/maps");
  const int error = file ? ESRCH : errno;
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!text.empty()) return text;
  if (error == EACCES || error == EPERM) not_allowed(error);
  throw failure("process {} has no memory: it has just ended, or is a kernel thread; name another",
                pid_);
}

void inspected_process::not_allowed(int error) const {
  throw failure(
      "may not look into process {}{}: {}; run this as its user, or with sudo where "
      "/proc/sys/kernel/yama/ptrace_scope is not 0",
      pid_, program_.empty() ? "" : " (" + program_ + ")", std::strerror(error));
}

}  // namespace readmost::command
