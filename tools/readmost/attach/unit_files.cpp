// SPDX-License-Identifier: Apache-2.0
#include "attach/unit_files.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <ranges>
#include <string>
#include <string_view>

#include "failure.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view service = ".service";

std::string full_name(const std::string& name) {
  constexpr std::string_view letters = ":-_.\\@";
  const bool valid =
      !name.empty() && name.front() != '.' && std::ranges::all_of(name, [&](unsigned char c) {
        return std::isalnum(c) != 0 || letters.find(static_cast<char>(c)) != std::string_view::npos;
      });
  if (!valid) {
    throw failure("'{}' is no name of a unit; give one as 'nginx' or 'nginx.service'", name);
  }
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return name + std::string(service);
  if (name.substr(dot) == service) return name;
  for (const char* other : {".socket", ".timer", ".target", ".mount", ".path", ".slice", ".scope",
                            ".device", ".swap", ".automount"}) {
    if (name.substr(dot) == other) {
      throw failure("'{}' is no service, so it starts no program; name the service", name);
    }
  }
  return name + std::string(service);
}

std::string environment_or(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

// Those that systemd searches, the most important first.
std::vector<fs::path> folders_of_units(bool of_user, const fs::path& root) {
  const auto in_root = [&](const std::string& folder) {
    return root.empty() ? fs::path(folder) : root / fs::path(folder).relative_path();
  };
  if (of_user) {
    const std::string home = environment_or("HOME", "/root");
    return {in_root(environment_or("XDG_CONFIG_HOME", home + "/.config") + "/systemd/user"),
            in_root("/etc/systemd/user"),
            in_root(environment_or("XDG_DATA_HOME", home + "/.local/share") + "/systemd/user"),
            in_root("/usr/local/lib/systemd/user"), in_root("/usr/lib/systemd/user")};
  }
  return {in_root("/etc/systemd/system"), in_root("/run/systemd/system"),
          in_root("/usr/local/lib/systemd/system"), in_root("/usr/lib/systemd/system"),
          in_root("/lib/systemd/system")};
}

// The template of which this is an instance: server@.service of server@1.service.
std::string template_of(const std::string& name) {
  const std::size_t at = name.find('@');
  const std::size_t dot = name.rfind('.');
  if (at == std::string::npos || dot < at) return name;
  return name.substr(0, at + 1) + name.substr(dot);
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  const std::size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(blank) - first + 1));
}

// The assignments of `Environment=`, which may be quoted.
std::vector<std::string> assignments_in(const std::string& value) {
  std::vector<std::string> found;
  std::string word;
  char quote = '\0';
  const auto end_word = [&] {
    if (!word.empty()) found.push_back(word);
    word.clear();
  };
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c == '\\' && i + 1 < value.size()) {
      word += value[++i];
    } else if (quote != '\0' ? c == quote : c == '"' || c == '\'') {
      quote = quote != '\0' ? '\0' : c;
    } else if (quote == '\0' && (c == ' ' || c == '\t')) {
      end_word();
    } else {
      word += c;
    }
  }
  end_word();
  return found;
}

}  // namespace

unit_files::unit_files(const std::string& name, bool of_user, const fs::path& root)
    : name_(full_name(name)) {
  const std::vector<fs::path> folders = folders_of_units(of_user, root);
  additions_ = folders.front() / (name_ + ".d");
  const std::string template_name = template_of(name_);
  std::error_code error;
  for (const std::string& file : {name_, template_name}) {
    if (!files_.empty()) break;
    for (const fs::path& folder : folders) {
      if (!fs::is_regular_file(folder / file, error)) continue;
      files_.push_back(folder / file);
      break;
    }
  }
  if (files_.empty()) {
    throw failure(
        "no unit '{}' in '{}' and the other folders of systemd; see 'systemctl{} "
        "list-unit-files'{}",
        name_, folders.front().string(), of_user ? " --user" : "",
        of_user ? "" : ", or give --user for a unit of your own");
  }
  // Additions are read in the order of their names, whatever folder they are in.
  std::multimap<std::string, fs::path> added;  // equal names in the order of insertion
  for (const fs::path& folder : std::views::reverse(folders)) {
    for (const std::string& unit : {template_name, name_}) {
      for (const fs::directory_entry& entry :
           fs::directory_iterator(folder / (unit + ".d"), error)) {
        const fs::path& file = entry.path();
        if (file.extension() == ".conf") added.emplace(file.filename().string(), file);
      }
    }
  }
  std::ranges::copy(added | std::views::values, std::back_inserter(files_));
}

std::vector<std::string> unit_files::values(const std::string& name, const fs::path& except) const {
  std::vector<std::string> found;
  for (const fs::path& file : files_) {
    if (file == except) continue;
    std::ifstream in(file);
    std::string whole;
    for (std::string line; std::getline(in, line);) {
      const bool goes_on = line.ends_with('\\');
      whole += goes_on ? line.substr(0, line.size() - 1) + ' ' : line;
      if (goes_on) continue;
      const std::size_t equals = whole.find('=');
      if (equals != std::string::npos && trimmed(std::string_view(whole).substr(0, equals)) == name)
        found.push_back(trimmed(std::string_view(whole).substr(equals + 1)));
      whole.clear();
    }
  }
  return found;
}

std::optional<std::string> unit_files::setting(const std::string& name,
                                               const fs::path& except) const {
  const std::vector<std::string> all = values(name, except);
  if (all.empty()) return std::nullopt;
  return all.back();
}

std::optional<std::string> unit_files::variable(const std::string& name,
                                                const fs::path& except) const {
  std::optional<std::string> found;
  for (const std::string& value : values("Environment", except)) {
    if (value.empty()) found.reset();  // takes back all before it
    for (const std::string& assignment : assignments_in(value)) {
      if (assignment.starts_with(name + "=")) found = assignment.substr(name.size() + 1);
    }
  }
  return found;
}

}  // namespace readmost::command
