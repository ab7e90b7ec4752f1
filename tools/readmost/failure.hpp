#pragma once

#include <stdexcept>
#include <string>

namespace readmost::command {

// As env, nohup and timeout do: 125 to 127 are ours, so that a program's own status is rarely
// mistaken for one of them.
namespace exit_status {
inline constexpr int program_failed = 1;
inline constexpr int own_failure = 125;
inline constexpr int not_executable = 126;
inline constexpr int not_found = 127;
inline constexpr int signal_base = 128;
}  // namespace exit_status

// Ends the command with one line on stderr and the given exit status.
struct failure : std::runtime_error {
  failure(int exit_status, const std::string& message)
      : std::runtime_error(message), status(exit_status) {}
  int status;
};

}  // namespace readmost::command
