#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "metric.hpp"
#include "summary.hpp"

namespace readmost::command {

struct comparison {
  std::vector<std::string> program;
  metric judged_by;
  int rounds_asked = 0;
  std::vector<measurements> locks;  // the first is the baseline
  std::string library;              // empty when no lock needed it
  std::string problem;              // why it stopped early; empty when it did not

  bool has_values() const;
};

std::string as_table(const comparison& results);
nlohmann::ordered_json as_json(const comparison& results);

}  // namespace readmost::command
