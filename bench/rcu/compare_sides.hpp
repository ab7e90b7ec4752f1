// The main function of the programs whose contenders are sides (sides.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comparison.hpp"
#include "sides.hpp"

namespace bench {

// Calls measure(side, effort, found) for one of them at a time. Returns the exit status.
template <class Side, class Measure>
int compare_sides(int argc, char** argv, const std::string& program, const std::string& description,
                  const std::vector<std::unique_ptr<Side>>& all, Measure measure) {
  return compare(argc, argv,
                 {program, description, names_of(all),
                  [&](const std::string& name, effort chosen, figures& found) {
                    measure(named(all, name), chosen, found);
                  }});
}

}  // namespace bench
