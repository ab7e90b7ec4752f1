#include "process/preload.hpp"

#include <fmt/format.h>

#include <optional>

#include "failure.hpp"
#include "process/program_file.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view library_file = "libreadmost-pthread.so";
constexpr std::string_view preload_variable = "LD_PRELOAD";
constexpr std::string_view preload_separators = ": ";

// In ../lib/ as built and as most machines install it, or in the library folder of the build.
fs::path library_beside_executable() {
  std::error_code error;
  const fs::path prefix = folder_of_this_program("READMOST_LIBRARY").parent_path();
  const fs::path installed = prefix / READMOST_LIBRARY_DIR / library_file;
  return fs::exists(installed, error) ? installed : prefix / "lib" / library_file;
}

}  // namespace

fs::path find_library(const environment& env) {
  const std::optional<std::string> asked = env.get("READMOST_LIBRARY");
  const bool overridden = asked && !asked->empty();
  const fs::path library =
      (overridden ? fs::absolute(*asked) : library_beside_executable()).lexically_normal();
  const std::string origin = overridden ? " (from READMOST_LIBRARY)" : "";

  std::error_code error;
  if (!fs::is_regular_file(library, error)) {
    throw failure("no library at '{}'{}; build it, or set READMOST_LIBRARY to the path of {}",
                  library.string(), origin, library_file);
  }
  if (!is_loadable_library(library)) {
    throw failure(
        "'{}'{} is not a readable shared library for this machine; set READMOST_LIBRARY to the "
        "path of {}",
        library.string(), origin, library_file);
  }
  if (library.string().find_first_of(preload_separators) != std::string::npos) {
    throw failure(
        "the path '{}'{} contains a space or a colon, which LD_PRELOAD cannot express; copy the "
        "library elsewhere and set READMOST_LIBRARY",
        library.string(), origin);
  }
  return library;
}

void prepend_library(environment& env, const fs::path& library) {
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
    if (!entry.empty() && fs::path(entry).filename() != library_file) {
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

void warn_of_preload_obstacle(const fs::path& program) {
  if (const std::optional<std::string> obstacle = preload_obstacle(program)) {
    fmt::print(stderr, "readmost: warning: {}: it keeps its own locks\n", *obstacle);
  }
}

}  // namespace readmost::command
