// readmost simulate: locks on machines that one does not have.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/personality.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "processes.hpp"
#include "simulation/workloads/workloads.hpp"

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
};

json as_json(const latencies& of, double ghz) {
  const auto cycles = [ghz](double time) { return time * ghz / 1000; };
  json made{{"count", of.count()}};
  if (of.count() != 0) {
    made["mean"] = cycles(of.mean());
    for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p99", 0.99}, {"max", 1.0}}) {
      made[name] = cycles(static_cast<double>(of.quantile(share)));
    }
  }
  return made;
}

// "rwlock.hpp:120" of a place in the sources.
std::string short_place(const std::source_location& at) {
  const std::string file = at.file_name();
  return fmt::format("{}:{}", file.substr(file.rfind('/') + 1), at.line());
}

// Latencies are in cycles.
json as_json(const measurement& of, double ghz) {
  json made{{"nanoseconds", of.measured / 1000},
            {"reads", as_json(of.reads, ghz)},
            {"writes", as_json(of.writes, ghz)},
            {"interrupts", of.interrupts}};
  duration all = 0;
  for (const duration each : of.spent) all += each;
  for (unsigned i = 0; i < spendings; ++i) {
    made["spent"][name_of(static_cast<spending>(i))] =
        all == 0 ? 0 : static_cast<double>(of.spent[i]) / static_cast<double>(all);
  }
  made["lines"] = json::array();
  for (const hot_line& each : of.lines) {
    made["lines"].push_back({{"place", short_place(each.where)},
                             {"transfers", each.transfers},
                             {"waited", static_cast<double>(each.waited) * ghz / 1000}});
  }
  return made;
}

std::string number_or_dash(const json& of, const char* key) {
  return of.contains(key) ? fmt::format("{:.0f}", of[key].get<double>()) : "-";
}

// Where most of the time went, with shares.
std::string main_spendings(const json& of) {
  std::vector<std::pair<double, std::string>> all;
  for (const auto& [name, share] : of["spent"].items()) all.emplace_back(share, name);
  std::ranges::sort(all, std::greater<>());
  std::string text;
  for (std::size_t i = 0; i < 2 && all[i].first >= 0.05; ++i) {
    text += fmt::format("{}{:.0f}% {}", i == 0 ? "" : ", ", 100 * all[i].first, all[i].second);
  }
  return text;
}

void print_row(const json& of, bool with_lines) {
  const double seconds = of["nanoseconds"].get<double>() / 1e9;
  const auto millions = [&](const char* kind) {
    return of[kind]["count"].get<double>() / seconds / 1e6;
  };
  fmt::print("{:20} {:>7} {:>10.2f} {:>7} {:>8} {:>10.4f} {:>8} {:>9} {:>9}  {}\n",
             of["lock"].get<std::string>(), of["threads"].get<unsigned>(), millions("reads"),
             number_or_dash(of["reads"], "p50"), number_or_dash(of["reads"], "p99"),
             millions("writes"), number_or_dash(of["writes"], "p50"),
             number_or_dash(of["writes"], "p99"), number_or_dash(of["writes"], "max"),
             main_spendings(of));
  if (with_lines) {
    for (const json& line : of["lines"]) {
      fmt::print("    {:32} {:>9} transfers, {:.0f} cycles waited\n",
                 line["place"].get<std::string>(), line["transfers"].get<std::uint64_t>(),
                 line["waited"].get<double>());
    }
  }
  std::fflush(stdout);
}

int simulate(const request& asked) {
  const machine_description on = find_machine(asked.machine);
  const workload& what = find_workload(asked.workload);
  struct run {
    const contender* with;
    unsigned threads;
  };
  std::vector<run> runs;
  for (const std::string& name : asked.locks) {
    for (const unsigned threads : asked.threads) runs.push_back({&find_contender(name), threads});
    if (!what.subject.empty()) break;
  }
  std::ofstream file;
  if (!asked.file.empty()) {
    file.open(asked.file);
    if (!file) throw std::runtime_error(fmt::format("cannot write '{}'", asked.file));
  }
  fmt::print("{}: {} CPUs, {} GHz; {}. Times in cycles; simulated, not measured.\n", on.name,
             on.cpus(), on.ghz, what.what);
  fmt::print("{:20} {:>7} {:>10} {:>7} {:>8} {:>10} {:>8} {:>9} {:>9}\n", "", "threads",
             "M reads/s", "p50", "p99", what.subject.empty() ? "M writes/s" : "M updates/s", "p50",
             "p99", "max");
  const bool shows = isatty(STDERR_FILENO) == 1 && isatty(STDOUT_FILENO) == 0;
  json all = json::array();
  const auto name = [&](std::size_t i) {
    return fmt::format("{} with {} threads", runs[i].with->name, runs[i].threads);
  };
  // Each run finds the library's variables as they are at the start of the program.
  model::in_own_processes(
      asked.processes, runs.size(), name,
      [&](std::size_t i) {
        workload_options how = asked.how;
        how.threads = runs[i].threads;
        json made = as_json(what.run(on, *runs[i].with, how), on.ghz);
        made["machine"] = on.name;
        made["lock"] = what.subject.empty() ? runs[i].with->name : what.subject;
        made["workload"] = what.name;
        made["threads"] = how.threads;
        made["seed"] = how.seed;
        return made.dump();
      },
      [&](std::size_t i, const std::string& text) {
        all.push_back(json::parse(text));
        print_row(all.back(), asked.with_lines);
        if (shows) fmt::print(stderr, "{} of {}: {}\n", i + 1, runs.size(), name(i));
      });
  if (file.is_open()) file << all.dump(1) << '\n';
  return 0;
}

// The library hashes addresses, also of variables of the program: they must be the same each time.
void fix_addresses(char** argv) {
  const int now = personality(0xffffffff);
  if (now == -1 || (now & ADDR_NO_RANDOMIZE) != 0) return;
  if (personality(static_cast<unsigned>(now | ADDR_NO_RANDOMIZE)) != -1) {
    execv("/proc/self/exe", argv);
  }
}

}  // namespace
}  // namespace readmost::simulation

int main(int argc, char** argv) {
  using namespace readmost::simulation;
  fix_addresses(argv);
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
  app.add_option("--writes-in", asked.how.writes_in,
                 "one write in so many operations, where all threads write")
      ->check(CLI::Range(1U, 1'000'000'000U))
      ->capture_default_str();
  app.add_option("--between", asked.how.between_writes,
                 "cycles between two writes, where one thread writes")
      ->check(CLI::Range(1U, 1'000'000'000U))
      ->capture_default_str();
  app.add_option("--time", asked.how.time, "simulated nanoseconds that are counted")
      ->check(CLI::Range(1'000U, 1'000'000'000U));
  app.add_option("--warm-up", asked.how.warm_up, "simulated nanoseconds before that");
  app.add_option("--seed", asked.how.seed, "another one makes threads differ in other ways");
  app.add_option("--processes", asked.processes, "runs at a time (default: one per CPU)");
  app.add_option("--json", asked.file, "file to write the results to");
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
