// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace readmost::command {

// Prints one line on stderr, with what shows more, if a profile lacks locks of this program because
// they are of Readmost's classes. `name`: what the program is called.
void warn_of_classes_without_profile(const std::filesystem::path& program, const std::string& name);

}  // namespace readmost::command
