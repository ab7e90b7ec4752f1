// Is every lettered order and fence needed, and is every mutant found? Takes one away at a time and
// asks the scenarios.
#pragma once

#include <readmost/mutant.hpp>
#include <string>
#include <vector>

#include "engine/weakening.hpp"

namespace readmost::model {

struct necessity_request {
  std::vector<std::string> letters;  // all when empty
  std::vector<std::string> mutants;  // all when empty
  double seconds = 20;
  std::string table;
  std::string json;
};

// Prints and writes what was found; 0 if everything was found to be needed.
int find_necessity(const necessity_request& asked);

// These throw std::invalid_argument that names what there is not.
mutant mutant_named(const std::string& name);
// "A": without it; "K=acq_rel": with that order instead.
weakening weakening_named(const std::string& text);

}  // namespace readmost::model
