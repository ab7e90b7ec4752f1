#pragma once

#include <CLI/CLI.hpp>

#include "command_line.hpp"

namespace readmost::command {

struct doctor_options {
  bool quick = false;
  bool json = false;
  bool only_pthread = false;  // how the command measures in a child process
};

// The exit statuses of this command.
namespace doctor_status {
inline constexpr int useful = 0;
inline constexpr int obstacle = 1;
inline constexpr int cannot_examine = 2;
}  // namespace doctor_status

CLI::App* add_doctor(CLI::App& readmost, doctor_options& options);

// Returns the exit status.
int doctor(const CLI::App& command, const doctor_options& options, const command_line& line);

}  // namespace readmost::command
