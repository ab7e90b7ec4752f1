// Is every lettered order and fence needed, and is every mutant found? Takes one away at a time and
// asks the scenarios.
#pragma once

#include <readmost/detail/platform/mutant.hpp>
#include <string>
#include <vector>

#include "engine/weakening.hpp"
#include "processes.hpp"

namespace readmost::model {

using namespace readmost::detail;

struct necessity_request {
  std::vector<std::string> names;  // of letters and mutants; all when empty
  double seconds = 10;             // for each scenario and model
  std::string known;               // file of rows, as written: tried first
  bool only_known = false;         // nothing else is tried
  std::string table;               // file that has the marks between which the tables go
  unsigned processes = usual_processes();
};

// Prints what was found and writes it to `known` unless only_known; 0 if everything was found to be
// needed.
int find_necessity(const necessity_request& asked);

// These throw std::invalid_argument that names what there is not.
mutant mutant_named(const std::string& name);
// "A": without it; "K=acq_rel": with that order instead.
weakening weakening_named(const std::string& text);

}  // namespace readmost::model
