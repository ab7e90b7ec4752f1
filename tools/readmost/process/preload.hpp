// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>

#include "process/environment.hpp"

namespace readmost::command {

// The files of our libraries: Readmost's own lock, and the other locks of READMOST_LOCK.
inline constexpr std::string_view library_file = "libreadmost-pthread.so";
inline constexpr std::string_view lab_file = "libreadmost-lab.so";

// Whether the file is one of these, for this C library or named for another: see library_for().
bool is_ours(const std::filesystem::path& library);

// The library with a lock of READMOST_LOCK: READMOST_LIBRARY, or ../lib/ beside this executable. If
// READMOST_LIBRARY names one of our two files, the other is found in the same folder. Throws
// failure 125 when the library cannot be preloaded.
std::filesystem::path find_library(const environment& env, std::string_view lock);

// The library of that name for the C library that the program is loaded with: the one given, or one
// beside it (libreadmost-pthread-musl.so beside libreadmost-pthread.so). Throws failure 125 when it
// is missing, since the program would not start.
std::filesystem::path library_for(const std::filesystem::path& program,
                                  const std::filesystem::path& library);

// Puts the library before those that LD_PRELOAD names already, and in the place of our others.
void prepend_library(environment& env, const std::filesystem::path& library);

// Removes our libraries from LD_PRELOAD, wherever they were built, and keeps the rest.
void remove_library(environment& env);

// Prints one line on stderr, with the remedy, if the program's AddressSanitizer will end it because
// the library is preloaded.
void warn_of_refusal_by_sanitizer(const std::filesystem::path& program, const environment& env);

// Prints one line on stderr if the library will not reach this program.
void warn_of_preload_obstacle(const std::filesystem::path& program);

}  // namespace readmost::command
