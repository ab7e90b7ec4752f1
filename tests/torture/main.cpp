// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <random>

#include "catalogue.hpp"
#include "expect_failure.hpp"

namespace {

using namespace torture;

std::vector<std::string> lock_names(const catalogue& all) {
  std::vector<std::string> names;
  for (const scenario& one : all) {
    if (std::find(names.begin(), names.end(), one.lock) == names.end())
      names.emplace_back(one.lock);
  }
  return names;
}

void list(const catalogue& all) {
  for (const std::string& lock : lock_names(all)) {
    fmt::print("--lock {}\n", lock);
    for (const scenario& one : all) {
      if (one.lock == lock)
        fmt::print("  {:<24}{} ({} threads)\n", one.name, one.description, one.threads);
    }
  }
}

std::vector<scenario> choose(const catalogue& all, const std::string& lock,
                             const std::vector<std::string>& names) {
  std::vector<scenario> chosen;
  if (names.empty()) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(chosen),
                 [&](const scenario& one) { return one.lock == lock; });
  }
  for (const std::string& name : names) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const scenario& one) {
      return one.lock == lock && one.name == name;
    });
    if (found == all.end()) {
      throw CLI::ValidationError(
          "--scenario",
          fmt::format("lock '{}' has no scenario '{}'; --list shows what there is", lock, name));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

int run(const std::vector<scenario>& scenarios, options chosen, bool own_threads) {
  int worst = exit_status::passed;
  for (const scenario& one : scenarios) {
    if (own_threads) chosen.threads = one.threads;
    session session(fmt::format("{} {}", one.lock, one.name), chosen);
    one.run(session);
    worst = std::max<int>(worst, session.report());
  }
  return worst;
}

}  // namespace

int main(int argc, char** argv) {
  catalogue all;
  add_pthread_scenarios(all);
  for (const auto add : contribution::all()) add(all);
  add_broken_lock_scenarios(all);

  CLI::App app(
      "Tortures reader-writer locks. Exit status: 0 all went well, 1 a lock broke its\n"
      "promise, 2 nothing moved any more.");
  std::string lock = "shared_mutex";
  std::vector<std::string> names;
  options chosen;
  chosen.threads = 0;
  chosen.seed = std::random_device{}();
  bool only_list = false;
  bool failure_expected = false;
  unsigned rounds = 3;
  app.add_option("--lock", lock, "The lock to torture")
      ->check(CLI::IsMember(lock_names(all)))
      ->capture_default_str();
  app.add_option("--scenario", names, "What to do with it; may be repeated; without: everything");
  app.add_option("--threads", chosen.threads, "Threads; 0: what suits the scenario")
      ->check(CLI::Range(0U, 1000U))
      ->capture_default_str();
  app.add_option("--seconds", chosen.seconds, "How long each scenario runs")
      ->envname("READMOST_TORTURE_SECONDS")
      ->check(CLI::Range(0.01, 1e6))
      ->capture_default_str();
  app.add_option("--seed", chosen.seed, "Seed of what is drawn at random; without: a new one");
  app.add_option("--stall", chosen.stall, "Seconds without progress that count as a hang")
      ->check(CLI::Range(0.5, 1e6))
      ->capture_default_str();
  app.add_flag("--stop-at-violation", chosen.stop_at_violation, "End a scenario at once then");
  app.add_flag("--list", only_list, "Show locks and scenarios");
  app.add_flag("--expect-failure", failure_expected,
               "Succeed as soon as a scenario fails: for locks broken on purpose");
  app.add_option("--rounds", rounds, "How often --expect-failure goes through the scenarios")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
    if (only_list) {
      list(all);
      return 0;
    }
    const std::vector<scenario> scenarios = choose(all, lock, names);
    if (failure_expected) {
      names.clear();
      for (const scenario& one : scenarios) names.emplace_back(one.name);
      return expect_failure(lock, names, chosen, rounds);
    }
    return run(scenarios, chosen, chosen.threads == 0);
  } catch (const CLI::ParseError& error) {
    return app.exit(error);
  } catch (const std::exception& error) {
    fmt::print(stderr, "torture: {}\n", error.what());
    return 3;
  }
}
