// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace readmost::command {

// A process whose locks are looked at: one that runs, or one that has left a core file. It is
// neither stopped nor changed.
class holders_target {
 public:
  struct mapping {
    std::uintptr_t start;
    std::uintptr_t end;
    bool is_writable;
    bool is_executable;
    std::string file;  // empty: none
  };
  struct thread {
    pid_t id;
    // As the process knows itself: another one if it runs in a container.
    pid_t own_id;
    std::string name;  // empty: not known
  };

  virtual ~holders_target() = default;

  // "process 1234 (./server)", "core (./server)".
  virtual std::string title() const = 0;
  virtual std::string program() const = 0;
  virtual std::optional<pid_t> process() const = 0;
  virtual std::vector<mapping> mappings() const = 0;
  virtual std::vector<thread> threads() const = 0;
  // CLOCK_MONOTONIC in nanoseconds; none when nobody knows at what time the process ended.
  virtual std::optional<std::uint64_t> now() const = 0;

  // Copies memory; false where there is none. Throws failure when the process may not be read.
  virtual bool read(std::uintptr_t from, void* to, std::size_t size) const = 0;
  template <class T>
  bool read(std::uintptr_t from, T& to) const {
    return read(from, &to, sizeof to);
  }
  // False also where the memory belongs to the process but has not been kept in the core file.
  virtual bool is_kept(std::uintptr_t address) const = 0;

  // What is at the address, as in the statistics report.
  virtual std::string place_of(std::uintptr_t address) const = 0;

  // Where the thread is, the program's innermost function first, without the library's functions in
  // which it may wait; empty if that is not known.
  virtual std::vector<std::string> stack_of(pid_t thread) = 0;
};

std::unique_ptr<holders_target> running_target(pid_t pid);
// `program`: the file of the program, if it lies elsewhere than when it crashed; may be empty.
std::unique_ptr<holders_target> core_target(const std::string& core, const std::string& program);

}  // namespace readmost::command
