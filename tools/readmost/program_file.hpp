#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "environment.hpp"

namespace readmost::command {

// The file a shell would run for this name. Throws failure 127 when there is none, 126 when it
// cannot be executed.
std::filesystem::path find_program(const std::string& name, const environment& env);

// Why the dynamic loader will not preload a library into this program, if it will not.
std::optional<std::string> preload_obstacle(const std::filesystem::path& program);

// Whether this is a shared library that programs of our own architecture can load.
bool is_loadable_library(const std::filesystem::path& file);

}  // namespace readmost::command
