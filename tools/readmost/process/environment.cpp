// SPDX-License-Identifier: Apache-2.0
#include "process/environment.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace readmost::command {
namespace {

bool is_named(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' && entry.starts_with(name);
}

}  // namespace

environment::environment() {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    entries_.emplace_back(*entry);
  }
}

std::optional<std::string> environment::get(std::string_view name) const {
  const auto found = std::ranges::find_if(
      entries_, [&](const std::string& entry) { return is_named(entry, name); });
  if (found == entries_.end()) return std::nullopt;
  return found->substr(name.size() + 1);
}

void environment::set(std::string_view name, std::string_view value) {
  unset(name);
  entries_.push_back(fmt::format("{}={}", name, value));
}

void environment::unset(std::string_view name) {
  std::erase_if(entries_, [&](const std::string& entry) { return is_named(entry, name); });
}

std::vector<char*> environment::pointers() {
  return argument_pointers(entries_);
}

std::vector<char*> argument_pointers(std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace readmost::command
