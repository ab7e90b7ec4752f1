// SPDX-License-Identifier: Apache-2.0
#include "profile/classes.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string_view>

#include "lock/lock_inspection.hpp"
#include "process/program_file.hpp"

namespace readmost::command {
namespace {

// Where the program has the classes from; nothing if it has none, or only through a library.
std::optional<std::string> classes_of(const std::filesystem::path& program) {
  if (std::optional<std::string> library = needed_library(program, "libreadmost.so")) {
    return library;
  }
  static const detail::inspection core(nullptr, false, "");
  if (has_in_data(program, {core.magic, sizeof core.magic})) return "its own file";
  return std::nullopt;
}

}  // namespace

void warn_of_classes_without_profile(const std::filesystem::path& program,
                                     const std::string& name) {
  if (const std::optional<std::string> from = classes_of(program)) {
    fmt::print(stderr,
               "readmost: warning: '{}' has Readmost's classes from {}: their locks are not in the "
               "profile, which is of pthread's; 'Probes' in docs/statistics.md shows their waits\n",
               name, *from);
  }
}

}  // namespace readmost::command
