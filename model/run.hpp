// SPDX-License-Identifier: Apache-2.0
// `readmost-model list` and `run`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "processes.hpp"

namespace readmost::model {

struct run_request {
  std::vector<std::string> patterns;  // of scenario names; all when empty
  std::string memory = "all";         // or the name of one model
  std::string search = "usual";       // or the name of one search
  std::optional<unsigned> bound;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> runs;
  double seconds = 0;
  std::string schedule;
  std::string json;
  bool quiet = false;
  unsigned processes = usual_processes();
};

int list_scenarios();

// Explores scenarios and prints the results; 0 if each is what the catalogue says it has to be.
int run_scenarios(const run_request& asked);

}  // namespace readmost::model
