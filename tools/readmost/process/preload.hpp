#pragma once

#include <filesystem>
#include <string>

#include "process/environment.hpp"

namespace readmost::command {

// READMOST_LIBRARY, or ../lib/libreadmost-pthread.so beside this executable. Throws failure 125
// when that library cannot be preloaded.
std::filesystem::path find_library(const environment& env);

// Puts the library before those that LD_PRELOAD names already.
void prepend_library(environment& env, const std::filesystem::path& library);

// Removes our library from LD_PRELOAD, wherever it was built, and keeps the rest.
void remove_library(environment& env);

// Prints one line on stderr if the library will not reach this program.
void warn_of_preload_obstacle(const std::filesystem::path& program);

}  // namespace readmost::command
