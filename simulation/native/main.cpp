// SPDX-License-Identifier: Apache-2.0
// Locks on real threads, for comparison with the simulated ones: scripts/validate-simulation. Takes
// one turn of everything and prints JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "simulation/native/turns.hpp"

int main(int argc, char** argv) {
  readmost::simulation::native_request asked;
  CLI::App app("Measures locks as 'readmost simulate' simulates them.");
  app.add_option("--threads", asked.threads)->delimiter(',')->check(CLI::Range(1U, 1024U));
  app.add_option("--writes-in", asked.writes_in)->check(CLI::Range(1U, 1'000'000'000U));
  app.add_option("--milliseconds", asked.milliseconds)->check(CLI::Range(1U, 60'000U));
  bool counts = false;
  app.add_flag("--instructions", counts, "count the instructions of each pair instead");
  CLI11_PARSE(app, argc, argv);

  nlohmann::json found;
  if (counts) {
    for (const auto& [lock, read, write] : readmost::simulation::counted_instructions()) {
      found[lock] = {{"read", read}, {"write", write}};
    }
  } else {
    for (const auto& turn : readmost::simulation::measured_speeds(asked)) {
      found.push_back({{"lock", turn.lock},
                       {"workload", turn.workload},
                       {"threads", turn.threads},
                       {"per_second", turn.per_second}});
    }
  }
  fmt::print("{}\n", found.dump(1));
}
