#pragma once

#include "options.hpp"

namespace readmost::command {

// The exit statuses of this command.
namespace doctor_status {
inline constexpr int useful = 0;
inline constexpr int obstacle = 1;
inline constexpr int cannot_examine = 2;
}  // namespace doctor_status

// Returns the exit status.
int doctor(const doctor_options& options);

}  // namespace readmost::command
