// SPDX-License-Identifier: Apache-2.0
// The file of --json.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace readmost::simulation {

class results_file {
 public:
  // Opened before the runs, which take long. Empty name: none. Throws std::runtime_error if it
  // cannot be written.
  explicit results_file(const std::string& name);
  void write(const nlohmann::json& results);

 private:
  std::ofstream file_;
};

}  // namespace readmost::simulation
