// SPDX-License-Identifier: Apache-2.0
// Stacks of other processes' threads, by libdw. A command that was built without it knows none.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace readmost::command {

bool stacks_are_known() noexcept;

// Without the innermost frames, up to the last one of Readmost's library: those are not the
// program's. A frame is "function+0x12 (file)" or "file+0x12".
std::vector<std::string> without_library(std::vector<std::string> frames);

class stack_reader {
 public:
  // Of a process whose threads are asleep: their stacks stay as they are. Reads memory by
  // process_vm_readv(2), and the files of modules; stops nothing.
  static std::unique_ptr<stack_reader> of_process(pid_t pid);
  // `program` may be empty.
  static std::unique_ptr<stack_reader> of_core(const std::string& core, const std::string& program);

  virtual ~stack_reader() = default;
  // Innermost first; empty if it cannot be told, as of a thread that runs.
  virtual std::vector<std::string> frames_of(pid_t thread) = 0;
};

}  // namespace readmost::command
