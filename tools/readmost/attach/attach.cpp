// SPDX-License-Identifier: Apache-2.0
// Puts the library under a systemd service by a drop-in file, and takes it away.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "attach/unit_files.hpp"
#include "commands.hpp"
#include "failure.hpp"
#include "process/environment.hpp"
#include "process/preload.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

constexpr const char* file_name = "readmost.conf";

// A value in quotes, with what systemd would expand.
std::string assignment(const std::string& name, const std::string& value) {
  std::string text = "Environment=\"" + name + '=';
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '%') text += '%';
    text += c;
  }
  return text + "\"\n";
}

// Where the service does not see the library, it would start without it and complain at each start.
void check_visibility(const unit_files& unit, const fs::path& drop_in, const fs::path& library) {
  struct hidden {
    const char* setting;
    std::vector<const char*> folders;
  };
  const std::vector<hidden> all{{"ProtectHome", {"/home/", "/root/", "/run/user/"}},
                                {"PrivateTmp", {"/tmp/", "/var/tmp/"}}};
  for (const hidden& one : all) {
    const std::string value = unit.setting(one.setting, drop_in).value_or("no");
    const bool hides = value != "no" && value != "false" && value != "0" && value != "off" &&
                       value != "read-only" && !value.empty();
    const bool is_inside = std::ranges::any_of(
        one.folders, [&](const char* folder) { return library.string().starts_with(folder); });
    if (hides && is_inside) {
      throw failure(
          "{} has {}={}, so it does not see '{}'; install the library ('make install') "
          "and use the installed command",
          unit.name(), one.setting, value, library.string());
    }
  }
}

std::string text_of(const attach_options& options, const unit_files& unit,
                    const fs::path& drop_in) {
  if (options.stats.ends_with(".prom")) {
    throw failure(
        "--stats: a service writes no OpenMetrics into '{}'; name a .json file, and let 'readmost "
        "top --openmetrics' write it",
        options.stats);
  }
  const fs::path library = find_library(environment(), options.lock);
  check_visibility(unit, drop_in, library);
  environment preloading;
  preloading.set("LD_PRELOAD", unit.variable("LD_PRELOAD", drop_in).value_or(""));
  prepend_library(preloading, library);
  std::string text = "# Written by 'readmost attach'; 'readmost attach --remove " + unit.name() +
                     "' takes it away.\n[Service]\n" +
                     assignment("LD_PRELOAD", preloading.get("LD_PRELOAD").value_or(""));
  if (!options.lock.empty()) text += assignment("READMOST_LOCK", options.lock);
  if (!options.prefer.empty()) text += assignment("READMOST_PREFER", options.prefer);
  if (!options.stats.empty()) {
    text += assignment("READMOST_STATS", options.stats == "-" ? "1" : options.stats);
  }
  return text;
}

void write_file(const fs::path& file, const std::string& text) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  std::ofstream out;
  if (!error) out.open(file);
  if (error || !(out << text << std::flush)) {
    throw failure("cannot write '{}': {}; run this as root, or give --user for a unit of your own",
                  file.string(), error ? error.message() : std::strerror(errno));
  }
}

void remove_file(const fs::path& file, const std::string& unit) {
  std::error_code error;
  if (!fs::exists(file, error)) {
    throw failure("{} is not attached: there is no '{}'", unit, file.string());
  }
  if (!fs::remove(file, error)) {
    throw failure("cannot remove '{}': {}; run this as root", file.string(), error.message());
  }
  fs::remove(file.parent_path(), error);  // unless other additions are there
}

}  // namespace

int attach(const attach_options& options) {
  const unit_files unit(options.unit, options.of_user, options.root);
  const fs::path drop_in = unit.drop_in(file_name);
  if (options.remove) {
    remove_file(drop_in, unit.name());
    fmt::print("removed {}\n", drop_in.string());
  } else {
    write_file(drop_in, text_of(options, unit, drop_in));
    fmt::print("wrote {}\n", drop_in.string());
  }
  const char* user = options.of_user ? " --user" : "";
  fmt::print("It takes effect with: systemctl{} daemon-reload && systemctl{} restart {}\n", user,
             user, unit.name());
  return 0;
}

}  // namespace readmost::command
