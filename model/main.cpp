// SPDX-License-Identifier: Apache-2.0
// readmost-model: explores the scenarios of the catalogue. See docs/checking.md.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <readmost/detail/platform/mutant.hpp>

#include "engine/weakening.hpp"
#include "necessity.hpp"
#include "run.hpp"
#include "scenarios/library_names.hpp"
#include "speed.hpp"

namespace readmost::model {

namespace {

int main_of(int count, char** words) {
  CLI::App app{"Explores executions of the library's own source on a simulated machine."};
  app.require_subcommand(1);
  const auto add_processes = [](CLI::App* to, unsigned& processes) {
    to->add_option("--processes", processes,
                   "number of searches to run in parallel (default: one per CPU)")
        ->check(CLI::Range(1U, 1024U));
  };

  CLI::App* listing =
      app.add_subcommand("list", "print each scenario's name, its size and what it proves");

  run_request asked;
  std::string mutant = "none";
  std::string letter;
  CLI::App* running = app.add_subcommand("run", "explore scenarios");
  running->add_option("--scenario,SCENARIO", asked.patterns,
                      "names or shell patterns of scenarios (default: all)");
  running
      ->add_option("--search", asked.search,
                   "usual (chosen by the scenario's size), exhaustive, bounded, pct, random or "
                   "plain")
      ->check(CLI::IsMember({"usual", "exhaustive", "bounded", "pct", "random", "plain"}));
  running->add_option("--bound", asked.bound,
                      "bounded: most surprises in an execution; pct: depth of the bugs to find");
  running->add_option("--seed", asked.seed, "pct, random: seed of the first execution");
  running->add_option("--runs", asked.runs, "pct, random: number of executions");
  running->add_option("--time", asked.seconds, "time limit per scenario and model, in seconds");
  running->add_option("--schedule", asked.schedule,
                      "run one execution only: a schedule as printed with a violation");
  add_processes(running, asked.processes);
  running->add_option("--mutant", mutant,
                      "build in a deliberate defect "
                      "(see include/readmost/detail/platform/mutant.hpp)");
  running->add_option("--weaken", letter,
                      "remove a memory order or fence, given as LETTER or LETTER=ORDER "
                      "(see include/readmost/detail/platform/letters.hpp)");
  running->add_option("--memory", asked.memory, "memory model: sc, tso, ra or all")
      ->check(CLI::IsMember({"sc", "tso", "ra", "all"}));
  running->add_option("--json", asked.json, "file to write the results to");
  running->add_flag("--quiet", asked.quiet, "print no progress line");

  necessity_request needed;
  CLI::App* weighing =
      app.add_subcommand("necessity",
                         "weaken each lettered order and fence in turn, build in each mutant in "
                         "turn, and look for a scenario that fails");
  weighing->add_option("NAME", needed.names, "letters and mutants (default: all)");
  weighing->add_option("--time", needed.seconds, "time limit per scenario and model, in seconds")
      ->check(CLI::PositiveNumber);
  weighing->add_option("--known", needed.known,
                       "file of recorded failures, which are tried first; new ones are recorded");
  weighing
      ->add_flag("--only-known", needed.only_known, "try recorded failures only, and write nothing")
      ->needs("--known");
  add_processes(weighing, needed.processes);
  weighing->add_option("--table", needed.table, "page to write the tables into, between its marks");

  CLI::App* timing =
      app.add_subcommand("speed", "measure executions per second in simple scenarios");

  CLI11_PARSE(app, count, words);
  name_library_variables();
  if (listing->parsed()) return list_scenarios();
  if (weighing->parsed()) return find_necessity(needed);
  if (timing->parsed()) return measure_speed();
  chosen_mutant = mutant_named(mutant);
  if (!letter.empty()) weaken(weakening_named(letter));
  return run_scenarios(asked);
}

}  // namespace

}  // namespace readmost::model

int main(int count, char** words) {
  try {
    return readmost::model::main_of(count, words);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "readmost-model: %s\n", failure.what());
    return 2;
  }
}
