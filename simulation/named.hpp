// SPDX-License-Identifier: Apache-2.0
// Things that users choose by name.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace readmost::simulation {

// The one of `all` whose member `name` that is. Throws std::runtime_error with a sentence that has
// the names that there are; `what` they name is for that sentence.
template <class T>
const T& find_named(const std::vector<T>& all, const std::string& name, const char* what) {
  std::vector<std::string> names;
  for (const T& each : all) {
    if (each.name == name) return each;
    names.push_back(each.name);
  }
  throw std::runtime_error(
      fmt::format("no {} '{}'; there are {}", what, name, fmt::join(names, ", ")));
}

}  // namespace readmost::simulation
