#pragma once

#include <filesystem>
#include <string>

#include "environment.hpp"

namespace readmost::command {

// READMOST_LIBRARY, or ../lib/libreadmost-pthread.so beside this executable. Throws failure 125
// when that is no library one can preload.
std::filesystem::path find_library(const environment& env);

// Puts the library before what is preloaded already.
void prepend_library(environment& env, const std::filesystem::path& library);

// Takes our library out of LD_PRELOAD, wherever it was built, and keeps the rest.
void remove_library(environment& env);

// One line on stderr when the library will not reach this program.
void warn_of_preload_obstacle(const std::filesystem::path& program);

}  // namespace readmost::command
