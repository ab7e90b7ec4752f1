// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "failure.hpp"
#include "process/environment.hpp"

namespace readmost::command {

// The failure (126) of executing a program, for an errno value.
failure cannot_run(const std::filesystem::path& program, int error);

// Throws failure, which asks for this environment variable, when the kernel does not say.
std::filesystem::path folder_of_this_program(const char* variable);

// The file that a shell would run for this name. Throws failure 127 when there is none, 126 when it
// cannot be executed.
std::filesystem::path find_program(const std::string& name, const environment& env);

// Why the dynamic loader will not preload a library into this program, if it will not.
std::optional<std::string> preload_obstacle(const std::filesystem::path& program);

// The shared library of AddressSanitizer that the program names; nothing if it has none, or the
// sanitizer is linked into the program.
std::optional<std::string> address_sanitizer_of(const std::filesystem::path& program);

// Whether this is a shared library for programs of our own architecture.
bool is_loadable_library(const std::filesystem::path& file);

enum class c_library { unknown, glibc, musl };

// In words.
std::string_view name_of(c_library which);

// The C library that a program is loaded with, or that of the interpreter of a script.
c_library c_library_of_program(const std::filesystem::path& program);

// The C library that a shared library names.
c_library c_library_of_library(const std::filesystem::path& library);

}  // namespace readmost::command
