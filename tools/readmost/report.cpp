#include "report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <thread>

namespace readmost::command {
namespace {

struct host_facts {
  unsigned cpus = std::thread::hardware_concurrency();  // those we may run on
  std::string kernel;
  std::string machine;
};

host_facts this_host() {
  host_facts host;
  utsname names{};
  if (uname(&names) == 0) {
    host.kernel = fmt::format("{} {}", names.sysname, names.release);
    host.machine = names.machine;
  }
  return host;
}

// Four digits say more than the noise allows; large counts keep their whole part.
std::string number(double value) {
  return std::fabs(value) >= 1000 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
}

std::size_t rounds_finished(const comparison& results) {
  std::size_t rounds = results.locks.front().values.size();
  for (const measurements& lock : results.locks) rounds = std::min(rounds, lock.values.size());
  return rounds;
}

std::string ratio_explanation(const comparison& results) {
  const std::string& baseline = results.locks.front().lock;
  if (!results.judged_by.pattern()) {
    return fmt::format("{}'s time over the lock's, above 1 is faster", baseline);
  }
  return results.judged_by.lower_is_better()
             ? fmt::format("{}'s number over the lock's, above 1 is better", baseline)
             : fmt::format("the lock's number over {}'s, above 1 is better", baseline);
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

bool comparison::has_values() const {
  return std::ranges::any_of(locks, [](const measurements& lock) { return !lock.values.empty(); });
}

std::string as_table(const comparison& results) {
  const host_facts host = this_host();
  const measurements& baseline = results.locks.front();
  std::string table = fmt::format("program  {}\nmetric   {}\nhost     {} CPUs, {}, {}\n\n",
                                  fmt::join(results.program, " "), results.judged_by.description(),
                                  host.cpus, host.kernel, host.machine);
  const std::string heading = fmt::format("ratio to {}", baseline.lock);
  table += fmt::format("{:<16}{:>12}  {:>23}  {:>16}  {:>17}\n", "lock", "median", "min..max",
                       heading, "min..max");
  for (const measurements& lock : results.locks) {
    const std::optional<spread> values = spread_of(lock.values);
    if (!values) {
      table += fmt::format("{:<16}{:>12}\n", lock.lock, "no run");
      continue;
    }
    table += fmt::format("{:<16}{:>12}  {:>23}", lock.lock, number(values->median),
                         fmt::format("{}..{}", number(values->min), number(values->max)));
    const bool is_baseline = &lock == &baseline;
    const std::optional<spread> ratios = spread_of(ratios_to(baseline, lock, results.judged_by));
    if (is_baseline) {
      table += fmt::format("  {:>16}", "1");
    } else if (ratios) {
      table += fmt::format("  {:>16.3f}  {:>17}", ratios->median,
                           fmt::format("{:.3f}..{:.3f}", ratios->min, ratios->max));
    }
    table += '\n';
  }
  table += fmt::format("\nratio: {}; median over {} rounds, each ratio within one round\n",
                       ratio_explanation(results), rounds_finished(results));
  if (!results.problem.empty()) {
    table += fmt::format("INCOMPLETE: {} of {} rounds were finished\n", rounds_finished(results),
                         results.rounds_asked);
  }
  return table;
}

nlohmann::ordered_json as_json(const comparison& results) {
  using json = nlohmann::ordered_json;
  const host_facts host = this_host();
  const std::optional<std::string> pattern = results.judged_by.pattern();
  json document = {
      {"readmost", READMOST_VERSION},
      {"finished", utc_now()},
      {"command", results.program},
      {"metric", pattern ? json(*pattern) : json("wall time")},
      {"better", results.judged_by.lower_is_better() ? "lower" : "higher"},
      {"rounds", results.rounds_asked},
      {"rounds_finished", rounds_finished(results)},
      {"complete", results.problem.empty()},
      {"problem", results.problem.empty() ? json(nullptr) : json(results.problem)},
      {"library", results.library.empty() ? json(nullptr) : json(results.library)},
      {"host", {{"cpus", host.cpus}, {"kernel", host.kernel}, {"machine", host.machine}}},
      {"baseline", results.locks.front().lock},
      {"locks", json::array()},
  };
  for (const measurements& lock : results.locks) {
    const std::vector<double> ratios = ratios_to(results.locks.front(), lock, results.judged_by);
    const std::optional<spread> values = spread_of(lock.values);
    const std::optional<spread> ratio = spread_of(ratios);
    document["locks"].push_back({{"lock", lock.lock},
                                 {"values", lock.values},
                                 {"seconds", lock.seconds},
                                 {"value", values ? as_json(*values) : json(nullptr)},
                                 {"ratios", ratios},
                                 {"ratio", ratio ? as_json(*ratio) : json(nullptr)}});
  }
  return document;
}

}  // namespace readmost::command
