// SPDX-License-Identifier: Apache-2.0
#include "process/preload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "failure.hpp"
#include "process/program_file.hpp"
#include "statistics/lock_names.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view preload_variable = "LD_PRELOAD";
constexpr std::string_view preload_separators = ": ";

// libreadmost-pthread-musl.so of libreadmost-pthread.so.
std::string file_for(c_library which, const fs::path& file) {
  return fmt::format("{}-{}.so", file.stem().string(), name_of(which));
}

// An unknown name is left to the library of our own lock, which complains of it.
std::string_view file_with(std::string_view lock) {
  const auto& names = detail::lock_names;
  const bool is_other = std::find(names.begin() + 1, names.end(), lock) != names.end();
  return is_other ? lab_file : library_file;
}

// In ../lib/ as built and as most machines install it, or in the library folder of the build.
fs::path library_beside_executable(std::string_view file) {
  std::error_code error;
  const fs::path prefix = folder_of_this_program("READMOST_LIBRARY").parent_path();
  const fs::path installed = prefix / READMOST_LIBRARY_DIR / file;
  return fs::exists(installed, error) ? installed : prefix / "lib" / file;
}

}  // namespace

bool is_ours(const fs::path& library) {
  const std::string file = library.filename().string();
  for (const std::string_view ours : {library_file, lab_file}) {
    if (file == ours || file == file_for(c_library::glibc, ours) ||
        file == file_for(c_library::musl, ours)) {
      return true;
    }
  }
  return false;
}

fs::path find_library(const environment& env, std::string_view lock) {
  const std::string_view file = file_with(lock);
  const std::optional<std::string> asked = env.get("READMOST_LIBRARY");
  const bool overridden = asked && !asked->empty();
  fs::path library =
      (overridden ? fs::absolute(*asked) : library_beside_executable(file)).lexically_normal();
  if (library.filename() == library_file || library.filename() == lab_file) {
    library.replace_filename(file);
  }
  const std::string origin = overridden ? " (from READMOST_LIBRARY)" : "";

  std::error_code error;
  if (!fs::is_regular_file(library, error)) {
    throw failure("no library at '{}'{}; build it, or set READMOST_LIBRARY to the path of {}",
                  library.string(), origin, file);
  }
  if (!is_loadable_library(library)) {
    throw failure(
        "'{}'{} is not a readable shared library for this machine; set READMOST_LIBRARY to the "
        "path of {}",
        library.string(), origin, file);
  }
  if (library.string().find_first_of(preload_separators) != std::string::npos) {
    throw failure(
        "the path '{}'{} contains a space or a colon, which LD_PRELOAD cannot express; copy the "
        "library elsewhere and set READMOST_LIBRARY",
        library.string(), origin);
  }
  return library;
}

fs::path library_for(const fs::path& program, const fs::path& library) {
  const c_library wanted = c_library_of_program(program);
  const auto serves = [&](const fs::path& file) {
    const c_library given = c_library_of_library(file);
    return given == c_library::unknown || given == wanted;
  };
  if (wanted == c_library::unknown || serves(library)) return library;
  const fs::path other = library.parent_path() / file_for(wanted, library.filename());
  if (is_loadable_library(other) && serves(other)) return other;
  throw failure(
      "'{}' is a program of {}, and '{}' is for {}; put the {} of a build for {} there as '{}'",
      program.string(), name_of(wanted), library.string(), name_of(c_library_of_library(library)),
      library.filename().string(), name_of(wanted), other.string());
}

void prepend_library(environment& env, const fs::path& library) {
  remove_library(env);
  const std::string others = env.get(preload_variable).value_or("");
  env.set(preload_variable, others.empty() ? library.string() : library.string() + ":" + others);
}

void remove_library(environment& env) {
  const std::optional<std::string> preloaded = env.get(preload_variable);
  if (!preloaded) return;
  std::string kept;
  for (std::size_t start = 0; start < preloaded->size();) {
    const std::size_t end =
        std::min(preloaded->find_first_of(preload_separators, start), preloaded->size());
    const std::string entry = preloaded->substr(start, end - start);
    if (!entry.empty() && !is_ours(entry)) {
      kept += kept.empty() ? entry : ":" + entry;
    }
    start = end + 1;
  }
  if (kept.empty()) {
    env.unset(preload_variable);
  } else {
    env.set(preload_variable, kept);
  }
}

void warn_of_refusal_by_sanitizer(const fs::path& program, const environment& env) {
  const std::optional<std::string> sanitizer = address_sanitizer_of(program);
  if (!sanitizer) return;
  const std::string options = env.get("ASAN_OPTIONS").value_or("");
  if (options.find("verify_asan_link_order=0") != std::string::npos) return;
  fmt::print(stderr,
             "readmost: warning: '{}' needs {}, which ends the program because a library is "
             "preloaded before it; set ASAN_OPTIONS=verify_asan_link_order=0{}, or link the "
             "program with -static-libasan\n",
             program.string(), *sanitizer, options.empty() ? "" : ":" + options);
}

void warn_of_preload_obstacle(const fs::path& program) {
  if (const std::optional<std::string> obstacle = preload_obstacle(program)) {
    fmt::print(stderr, "readmost: warning: {}: it keeps its own locks\n", *obstacle);
  }
}

}  // namespace readmost::command
