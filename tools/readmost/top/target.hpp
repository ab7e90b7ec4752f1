// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "process/inspected.hpp"
#include "statistics/introspection.hpp"

namespace readmost::command {

using namespace readmost::detail;

// A running process, which is read from outside, neither stopped nor changed. All functions throw
// failure when the process cannot be read, process_ended when it has ended.
class top_process {
 public:
  struct process_ended {};

  // One piece of the process's memory, to be copied to `to`.
  struct piece {
    const void* from;
    void* to;
    std::size_t size;
  };

  explicit top_process(pid_t pid);
  ~top_process();
  top_process(const top_process&) = delete;
  top_process& operator=(const top_process&) = delete;

  pid_t pid() const { return process_.pid(); }
  const std::string& program() const { return process_.program(); }
  // As inspected_process has them.
  const std::string& folder() const { return process_.folder(); }
  std::string maps() const { return process_.maps(); }
  // Readable when the process has ended.
  int descriptor() const { return descriptor_; }

  void read(std::span<const piece> pieces) const;
  template <class T>
  void read(const T* from, T& to) const {
    const piece one{from, &to, sizeof(T)};
    read({&one, 1});
  }

 private:
  inspected_process process_;
  int descriptor_;
};

// One with the preloaded library.
class top_target : public top_process {
 public:
  explicit top_target(pid_t pid);

  std::size_t core_offset() const { return shown_.core_offset; }

  // The current state.
  const introspection& shown();

  // The place of the lock, as in the statistics report.
  const std::string& place_of(std::uintptr_t lock);

 private:
  std::uintptr_t find_symbol(std::uintptr_t library) const;

  const introspection* shown_at_ = nullptr;
  introspection shown_{"", nullptr, nullptr, 0};
  std::map<std::uintptr_t, std::string> places_;
};

}  // namespace readmost::command
