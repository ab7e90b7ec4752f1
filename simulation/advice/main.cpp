// SPDX-License-Identifier: Apache-2.0
// readmost advise: what would serve a program's locks best, here or on a machine that one does not
// have, by simulation of what its statistics tell.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <fstream>
#include <thread>

#include "processes.hpp"
#include "simulation/advice/advice.hpp"
#include "simulation/advice/contours.hpp"
#include "simulation/advice/used_locks.hpp"
#include "simulation/command/results_file.hpp"
#include "simulation/command/runs.hpp"
#include "simulation/command/tables.hpp"

namespace readmost::simulation {

namespace {

using nlohmann::json;

struct request {
  std::string statistics;
  std::string machine;
  std::vector<unsigned> threads;
  unsigned ran_on = std::max(1U, std::thread::hardware_concurrency());
  unsigned inside = 100;
  unsigned locks = 3;
  unsigned seeds = 3;
  unsigned processes = model::usual_processes();
  std::string file;
  std::string contours;  // a file
};

// A thread that comes less often has no part in the cost of the lock.
constexpr double longest_period = 1e6;  // nanoseconds

// What counting adds to a use, in nanoseconds: less for a passive read, more for other uses
// (docs/statistics.md).
constexpr double counting = 20;

// Nanoseconds from one use to the next of one of the threads that were seen to use the lock,
// without those for which it waited or counted. Waits are known at best: threads may have lacked a
// CPU in them, and there may have been more threads than that.
double period_of(const used_lock& lock, const observed_program& program, const request& asked) {
  const double uses = static_cast<double>(lock.reads + lock.writes);
  const double seen = program.seconds * 1e9 * asked.ran_on / uses;
  return std::max(seen - lock.waited / uses - counting, seen / 3);
}

workload_options options_for(const used_lock& lock, double period, const request& asked,
                             const machine_description& on) {
  const std::uint64_t uses = lock.reads + lock.writes;
  const std::uint64_t writes_in = lock.writes == 0 ? uses : uses / lock.writes;
  // A thread that uses it so often stays inside for half the time at most.
  const double cycles = period * on.ghz;
  const double inside = std::min<double>(asked.inside, cycles / 2);
  workload_options made;
  made.writes_in = static_cast<unsigned>(std::clamp<std::uint64_t>(writes_in, 1, 1'000'000'000));
  made.inside = static_cast<unsigned>(std::lround(inside));
  made.pause = static_cast<unsigned>(std::lround(cycles - inside));
  // Each thread comes some dozen times at least.
  made.time = static_cast<std::uint64_t>(std::clamp(30 * period, 500'000.0, 20'000'000.0));
  made.warm_up = 2 * made.time;
  return made;
}

// What the alternatives reach with one number of threads, and what follows.
struct comparison {
  std::vector<outcome_range> outcomes;
  advice kept;     // if the program stays as it is
  advice changed;  // if it may change
};

comparison compare(workload_options how, const request& asked, const machine_description& on) {
  const variation plain{"", on};
  comparison made;
  for (const alternative& each : all_alternatives()) {
    const workload& what = find_workload(each.workload);
    const contender& with =
        what.subject.empty() ? find_contender(each.lock) : all_contenders().front();
    how.among = each.among;
    std::vector<run> runs;
    for (how.seed = 1; how.seed <= asked.seeds; ++how.seed) runs.push_back({&with, &plain, how});
    std::vector<double> outcomes;
    execute(what, runs, asked.processes, [&](std::size_t, const json& result) {
      outcomes.push_back(millions_a_second(result, "reads") + millions_a_second(result, "writes"));
    });
    made.outcomes.push_back(range_of(outcomes));
  }
  made.kept = choose(made.outcomes, without_changes);
  made.changed = choose(made.outcomes, made.outcomes.size());
  return made;
}

void print_advice(const char* when, const advice& of) {
  fmt::print("    {}: {}{}\n", when, all_alternatives()[of.chosen].takes,
             of.is_open ? "; but its range and glibc's overlap, so measure it" : "");
}

void print(const comparison& of, unsigned threads) {
  fmt::print("  {} thread{}: million operations a second\n", threads, threads == 1 ? "" : "s");
  for (std::size_t i = 0; i < of.outcomes.size(); ++i) {
    const outcome_range& each = of.outcomes[i];
    fmt::print("    {:<24}{:>10.4g}  ({:.4g} to {:.4g}){:>8.2f}\n", all_alternatives()[i].name,
               each.median, each.least, each.most, each.median / of.outcomes.front().median);
  }
  print_advice("best", of.kept);
  if (of.changed.chosen != of.kept.chosen) print_advice("if the program may change", of.changed);
}

json as_json(const advice& of) {
  return {{"choose", all_alternatives()[of.chosen].name}, {"open", of.is_open}};
}

json as_json(const std::vector<outcome_range>& outcomes) {
  json made;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const outcome_range& each = outcomes[i];
    made[all_alternatives()[i].name] = {
        {"least", each.least}, {"median", each.median}, {"most", each.most}};
  }
  return made;
}

std::string as_text(const workload_options& how, const used_lock& lock) {
  return lock.writes == 0 ? std::string("no write") : fmt::format("one write in {}", how.writes_in);
}

// Writes the plot, or its points if the file's name ends in .json, with the locks in it.
void draw_contours(const request& asked, const machine_description& on,
                   const std::vector<used_lock>& locks) {
  std::ofstream file(asked.contours);
  if (!file) throw std::runtime_error(fmt::format("cannot write '{}'", asked.contours));
  contour_set made = contours_of(on, costs_of(on, asked.processes));
  for (const used_lock& each : locks) {
    const std::uint64_t uses = each.reads + each.writes;
    if (uses == 0) continue;
    made.marks.push_back({each.name, static_cast<double>(asked.threads.back()),
                          static_cast<double>(each.writes) / static_cast<double>(uses)});
  }
  if (asked.contours.ends_with(".json")) {
    file << as_json(made).dump(1) << '\n';
  } else {
    file << as_svg(made);
  }
  fmt::print("Break-even on {}, by formula: RCU is the cheapest up to a share of updates of ",
             on.description);
  for (const double rate : contour_rates) {
    fmt::print("{}{:.3g} with {:g} updates per CPU and grace period",
               rate == contour_rates[0] ? "" : ", ", region_of_rcu(made, rate), rate);
  }
  fmt::print(": {}\n", asked.contours);
}

int advise(const request& asked) {
  const machine_description on = find_machine(asked.machine);
  if (asked.statistics.empty()) {
    draw_contours(asked, on, {});
    return 0;
  }
  const observed_program program = read_statistics(asked.statistics);
  results_file file(asked.file);
  fmt::print("{} on {}; simulated, not measured. The last column is relative to glibc's lock.\n",
             program.name, on.description);
  json all = json::array();
  for (std::size_t i = 0; i < program.locks.size() && i < asked.locks; ++i) {
    const used_lock& lock = program.locks[i];
    const std::uint64_t uses = lock.reads + lock.writes;
    const double period = uses == 0 ? 2 * longest_period : period_of(lock, program, asked);
    fmt::print("\n{}\n", lock.name);
    if (period > longest_period) {
      fmt::print("  {} uses in {:.1f} s: too few to matter\n", uses, program.seconds);
      all.push_back({{"lock", lock.name}, {"uses", uses}});
      continue;
    }
    workload_options how = options_for(lock, period, asked, on);
    fmt::print("  {} uses in {:.1f} s, {}; {} cycles inside, {} between two uses of a thread\n",
               uses, program.seconds, as_text(how, lock), how.inside, how.pause);
    for (const unsigned threads : asked.threads) {
      how.threads = threads;
      const comparison made = compare(how, asked, on);
      print(made, threads);
      all.push_back({{"lock", lock.name},
                     {"uses", uses},
                     {"writes_in", how.writes_in},
                     {"pause", how.pause},
                     {"inside", how.inside},
                     {"machine", on.name},
                     {"threads", threads},
                     {"million_operations_a_second", as_json(made.outcomes)},
                     {"advice", as_json(made.kept)},
                     {"advice_with_changes", as_json(made.changed)}});
    }
  }
  file.write(all);
  if (!asked.contours.empty()) {
    fmt::print("\n");
    const std::size_t most = std::min<std::size_t>(program.locks.size(), asked.locks);
    draw_contours(
        asked, on,
        {program.locks.begin(), program.locks.begin() + static_cast<std::ptrdiff_t>(most)});
  }
  return 0;
}

}  // namespace
}  // namespace readmost::simulation

int main(int argc, char** argv) {
  using namespace readmost::simulation;
  request asked;
  CLI::App app(
      "Says what would serve a program's locks best on a machine, by simulation.\n"
      "  readmost run --stats=seen.json -- PROGRAM\n"
      "  readmost advise seen.json --machine epyc-7742x2",
      "readmost advise");
  app.add_option("STATISTICS", asked.statistics,
                 "what 'readmost run --stats=FILE.json' has written; may be left out with "
                 "--contours");
  app.add_option("--machine", asked.machine,
                 "name of a machine, or a file, as 'readmost doctor --calibrate' writes it")
      ->required();
  app.add_option("--threads", asked.threads,
                 "numbers of threads (default: a quarter of the machine's CPUs, and all)")
      ->delimiter(',')
      ->check(CLI::Range(1U, 4096U));
  app.add_option("--ran-on", asked.ran_on,
                 "how many threads used the locks when the statistics were made (default: the CPUs "
                 "of this machine)")
      ->check(CLI::Range(1U, 4096U));
  app.add_option("--inside", asked.inside, "cycles that a thread stays inside a lock")
      ->check(CLI::Range(0U, 1'000'000'000U))
      ->capture_default_str();
  app.add_option("--most", asked.locks, "locks to look at, those that are used most first")
      ->check(CLI::Range(1U, 10U))
      ->capture_default_str();
  app.add_option("--seeds", asked.seeds, "runs of each, for the ranges")
      ->check(CLI::Range(1U, 100U))
      ->capture_default_str();
  app.add_option("--processes", asked.processes, "runs at a time (default: one per CPU)");
  app.add_option("--json", asked.file, "file to write the results to");
  app.add_option("--contours", asked.contours,
                 "FILE.svg to draw up to which share of updates RCU is the cheapest, by the RCU "
                 "paper's formulas, with the program's locks; or FILE.json for the points");
  CLI11_PARSE(app, argc, argv);
  try {
    if (asked.statistics.empty() && asked.contours.empty()) {
      throw std::runtime_error(
          "STATISTICS is required: 'readmost run --stats=FILE.json -- PROGRAM' writes them; or ask "
          "for --contours alone");
    }
    if (asked.threads.empty()) {
      const unsigned cpus = find_machine(asked.machine).cpus();
      if (cpus >= 8) asked.threads.push_back(cpus / 4);
      asked.threads.push_back(cpus);
    }
    return advise(asked);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "readmost advise: {}\n", problem.what());
    return 1;
  }
}
