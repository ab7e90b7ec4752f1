// SPDX-License-Identifier: Apache-2.0
// readmost simulate: locks on machines that one does not have.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "processes.hpp"
#include "simulation/command/results_file.hpp"
#include "simulation/command/runs.hpp"
#include "simulation/command/tables.hpp"

namespace readmost::simulation {

namespace {

using nlohmann::json;

struct request {
  std::string machine;
  std::vector<std::string> locks{"readmost", "glibc-like"};
  std::vector<unsigned> threads;
  std::string workload = "pairs";
  workload_options how;
  unsigned processes = model::usual_processes();
  std::string file;
  bool with_lines = false;
  unsigned vary = 0;               // percent
  unsigned steal = 0;              // percent
  unsigned steal_for = 4'000'000;  // nanoseconds
  bool without_membarrier = false;
};

int simulate(const request& asked) {
  machine_description on = find_machine(asked.machine);
  on.stolen_share = asked.steal / 100.0;
  on.stolen_for = duration{asked.steal_for} * 1000;
  on.refuses_membarrier = asked.without_membarrier;
  const workload& what = find_workload(asked.workload);
  const std::vector<variation> variations =
      asked.vary != 0 ? variations_of(on, asked.vary) : std::vector<variation>{{"", on}};
  std::vector<run> runs;
  for (const std::string& name : asked.locks) {
    for (const unsigned threads : asked.threads) {
      workload_options how = asked.how;
      how.threads = threads;
      for (const variation& each : variations) {
        runs.push_back({&find_contender(name), &each, how});
      }
    }
    if (!what.subject.empty()) break;
  }
  results_file file(asked.file);
  print_head(on, what);
  const bool shows = isatty(STDERR_FILENO) == 1 && (asked.vary != 0 || isatty(STDOUT_FILENO) == 0);
  std::vector<json> all;
  execute(what, runs, asked.processes, [&](std::size_t i, const json& result) {
    all.push_back(result);
    if (runs[i].on->name.empty()) print_row(result, asked.with_lines);
    if (shows) fmt::print(stderr, "{} of {}: {}\n", i + 1, runs.size(), runs[i].name());
  });
  if (asked.vary != 0) print_orders(all, variations, asked.vary);
  file.write(all);
  return 0;
}

}  // namespace
}  // namespace readmost::simulation

int main(int argc, char** argv) {
  using namespace readmost::simulation;
  request asked;
  CLI::App app("Simulates locks on a machine that is described in a file.", "readmost simulate");
  app.add_option("--machine", asked.machine, "name of a machine, or a file (docs/scaling.md)")
      ->required();
  app.add_option("--locks", asked.locks, "names, or all")->delimiter(',');
  app.add_option("--threads", asked.threads,
                 "numbers of threads (default: 1, 2, 4 and so on, and the machine's CPUs)")
      ->delimiter(',')
      ->check(CLI::Range(1U, 4096U));
  std::string workloads = "one of:";
  for (const workload& each : all_workloads()) {
    workloads += fmt::format("\n{}: {}", each.name, each.what);
  }
  app.add_option("--workload", asked.workload, workloads)->capture_default_str();
  const auto add_number = [&app](const char* name, unsigned& value, unsigned least, unsigned most,
                                 const char* what) {
    app.add_option(name, value, what)->check(CLI::Range(least, most))->capture_default_str();
  };
  constexpr unsigned very_many = 1'000'000'000;
  add_number("--writes-in", asked.how.writes_in, 1, very_many,
             "one write in so many operations, where all threads write");
  add_number("--between", asked.how.between_writes, 1, very_many,
             "cycles between two writes, where one thread writes");
  add_number("--inside", asked.how.inside, 0, very_many,
             "cycles inside the lock, in mix, rcu-mix, long-writes and long-reads");
  add_number("--pause", asked.how.pause, 0, very_many,
             "cycles between two operations of a thread, in those");
  add_number("--among", asked.how.among, 1, 10'000, "number of locks, in mix");
  add_number("--reads-in", asked.how.reads_in, 0, very_many,
             "in rwbench: one read in so many operations, all others write (0: see --writes-in)");
  add_number("--batch", asked.how.batch, 0, 1'000'000,
             "in grace-period: updates of 100 cycles between two grace periods (0: 5,000 cycles)");
  app.add_option("--asleep", asked.how.asleep,
                 "in sleeping-readers: how many readers sleep inside (default: every other)")
      ->check(CLI::Range(0U, 4096U));
  app.add_option("--time", asked.how.time, "simulated nanoseconds that are counted")
      ->check(CLI::Range(1'000U, 1'000'000'000U));
  app.add_option("--warm-up", asked.how.warm_up, "simulated nanoseconds before that");
  app.add_option("--seed", asked.how.seed, "another one makes threads differ in other ways");
  app.add_option("--processes", asked.processes, "runs at a time (default: one per CPU)");
  app.add_option("--json", asked.file, "file to write the results to");
  app.add_option("--vary", asked.vary,
                 "repeat all with each latency so many percent smaller and larger, one at a time, "
                 "and say which orders of the locks hold")
      ->check(CLI::Range(1U, 90U));
  app.add_option("--steal", asked.steal,
                 "percent of the time for which a hypervisor takes each CPU away")
      ->check(CLI::Range(0U, 90U));
  add_number("--steal-for", asked.steal_for, 1'000, very_many, "nanoseconds at a time, for that");
  app.add_flag("--without-membarrier", asked.without_membarrier,
               "simulate a kernel that refuses membarrier(2)");
  app.add_flag("--lines", asked.with_lines, "print the cache lines that were waited for most");
  CLI11_PARSE(app, argc, argv);
  try {
    if (asked.locks == std::vector<std::string>{"all"}) {
      asked.locks.clear();
      for (const contender& each : all_contenders()) asked.locks.push_back(each.name);
    }
    if (asked.threads.empty()) {
      const unsigned cpus = find_machine(asked.machine).cpus();
      for (unsigned count = 1; count < cpus; count *= 2) asked.threads.push_back(count);
      asked.threads.push_back(cpus);
    }
    return simulate(asked);
  } catch (const std::exception& problem) {
    fmt::print(stderr, "readmost simulate: {}\n", problem.what());
    return 1;
  }
}
