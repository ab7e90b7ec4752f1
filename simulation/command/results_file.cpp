// SPDX-License-Identifier: Apache-2.0
#include "simulation/command/results_file.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace readmost::simulation {

results_file::results_file(const std::string& name) {
  if (name.empty()) return;
  file_.open(name);
  if (!file_) throw std::runtime_error(fmt::format("cannot write '{}'", name));
}

void results_file::write(const nlohmann::json& results) {
  if (file_.is_open()) file_ << results.dump(1) << '\n';
}

}  // namespace readmost::simulation
