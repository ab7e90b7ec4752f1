// SPDX-License-Identifier: Apache-2.0
// Another process, as /proc shows it.
#pragma once

#include <sys/types.h>

#include <string>

namespace readmost::command {

class inspected_process {
 public:
  explicit inspected_process(pid_t pid);

  pid_t pid() const { return pid_; }
  // "/proc/1234".
  const std::string& folder() const { return folder_; }
  // The first word of the command line, else the short name; empty if there is none.
  const std::string& program() const { return program_; }

  // The text of /proc/PID/maps. Throws failure if the process has no memory or may not be read.
  std::string maps() const;

  // Throws failure: the process may not be read.
  [[noreturn]] void not_allowed(int error) const;

 private:
  pid_t pid_;
  std::string folder_;
  std::string program_;
};

}  // namespace readmost::command
