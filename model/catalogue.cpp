// SPDX-License-Identifier: Apache-2.0
#include "catalogue.hpp"

#include <algorithm>
#include <cstring>

namespace readmost::model {

namespace {

std::vector<named_scenario>& all() {
  static std::vector<named_scenario> scenarios;
  return scenarios;
}

}  // namespace

const char* name_of(effort size) noexcept {
  static constexpr const char* names[] = {"small", "medium", "large"};
  return names[static_cast<std::size_t>(size)];
}

added_to_catalogue::added_to_catalogue(const named_scenario& which) {
  const auto place = std::find_if(all().begin(), all().end(), [&](const named_scenario& each) {
    return std::strcmp(each.name, which.name) > 0;
  });
  all().insert(place, which);
}

const std::vector<named_scenario>& catalogue() {
  return all();
}

exploration usual_exploration(const named_scenario& which, memory_model memory) {
  exploration how;
  how.memory = memory;
  const bool all_of_it = which.size == effort::small ||
                         (which.size == effort::medium && memory != memory_model::release_acquire);
  if (!all_of_it) {
    how.search = search_kind::pct;
    how.bound = 3;
    how.runs = 30'000;
  }
  how.most_executions = most_usual_executions;
  return how;
}

}  // namespace readmost::model
