// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

namespace readmost::command {

// As with env, nohup and timeout, 125 to 127 are the command's own, so that a program's own status
// is rarely mistaken for one of them.
namespace exit_status {
inline constexpr int program_failed = 1;
inline constexpr int own_failure = 125;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
inline constexpr int signal_base = 128;
// Of `holders`.
inline constexpr int deadlocked = 1;
// Of `doctor`, which returns 1 for an obstacle.
inline constexpr int cannot_examine = 2;
}  // namespace exit_status

// Ends the command with one line on stderr and the given exit status, 125 by default.
struct failure : std::runtime_error {
  template <class... Values>
  failure(int exit_status, fmt::format_string<Values...> message, Values&&... values)
      : std::runtime_error(fmt::format(message, std::forward<Values>(values)...)),
        status(exit_status) {}
  template <class... Values>
  explicit failure(fmt::format_string<Values...> message, Values&&... values)
      : failure(exit_status::own_failure, message, std::forward<Values>(values)...) {}
  int status;
};

}  // namespace readmost::command
