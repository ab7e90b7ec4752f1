// The main function of the programs whose contenders are reader-writer locks.
#pragma once

#include <string>

#include "comparison.hpp"
#include "contenders.hpp"

namespace bench {

// Calls measure(lock, chosen, effort, found) for one of them at a time. `chosen` is what the
// program's own options fill, which chosen.add_to(app) names. Returns the exit status.
template <class Options, class Measure>
int compare_locks(int argc, char** argv, const std::string& program, const std::string& description,
                  Options chosen, Measure measure) {
  const contender_list all = all_contenders();
  return compare(argc, argv,
                 {program, description, names_of(all),
                  [&](const std::string& name, effort effort, figures& found) {
                    measure(named(all, name), chosen, effort, found);
                  },
                  [&](CLI::App& app) { chosen.add_to(app); }});
}

}  // namespace bench
