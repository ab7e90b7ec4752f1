// SPDX-License-Identifier: Apache-2.0
// Is every lettered order and fence needed, and is every mutant noticed? Weakens or breaks one
// thing at a time and looks for a scenario that fails.
#pragma once

#include <readmost/detail/platform/mutant.hpp>
#include <string>
#include <vector>

#include "engine/weakening.hpp"
#include "processes.hpp"

namespace readmost::model {

struct necessity_request {
  std::vector<std::string> names;  // of letters and mutants; all when empty
  double seconds = 10;             // limit per scenario and model
  std::string known;               // file of recorded failures, tried first
  bool only_known = false;         // try nothing else, and do not write the file
  std::string table;               // page to write the tables into
  unsigned processes = usual_processes();
};

// Prints the results, and records them in `known` unless only_known. Returns 0 if everything turned
// out to be needed.
int find_necessity(const necessity_request& asked);

// These throw std::invalid_argument with the unknown name.
mutant mutant_named(const std::string& name);
// "A" removes the order or fence; "K=acq_rel" replaces the order.
weakening weakening_named(const std::string& text);

}  // namespace readmost::model
