// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace readmost::command {

// The environment of a program to be started; initially a copy of the command's.
class environment {
 public:
  environment();

  std::optional<std::string> get(std::string_view name) const;
  void set(std::string_view name, std::string_view value);
  void unset(std::string_view name);

  // In the form that execve takes; valid until the next change.
  std::vector<char*> pointers();

 private:
  std::vector<std::string> entries_;
};

// Arguments in the same null-terminated form.
std::vector<char*> argument_pointers(std::vector<std::string>& arguments);

}  // namespace readmost::command
