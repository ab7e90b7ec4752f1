// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <fmt/format.h>
#include <fnmatch.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "catalogue.hpp"
#include "engine/report.hpp"
#include "record.hpp"

namespace readmost::model {

namespace {

std::vector<const named_scenario*> matching(const std::vector<std::string>& patterns) {
  const auto matches = [](const std::string& pattern, const char* name) {
    return fnmatch(pattern.c_str(), name, 0) == 0;
  };
  std::vector<const named_scenario*> found;
  for (const named_scenario& each : catalogue()) {
    if (patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
          return matches(pattern, each.name);
        })) {
      found.push_back(&each);
    }
  }
  for (const auto& pattern : patterns) {
    if (std::ranges::none_of(found,
                             [&](const auto* each) { return matches(pattern, each->name); })) {
      throw std::invalid_argument(
          fmt::format("unknown scenario '{}'; 'readmost-model list' prints their names", pattern));
    }
  }
  return found;
}

exploration exploration_of(const run_request& asked, const named_scenario& which,
                           memory_model memory) {
  exploration how = usual_exploration(which, memory);
  for (const search_kind kind : {search_kind::exhaustive, search_kind::bounded, search_kind::random,
                                 search_kind::pct, search_kind::plain}) {
    if (asked.search == name_of(kind)) how.search = kind;
  }
  how.bound = asked.bound.value_or(how.bound);
  how.seed = asked.seed.value_or(how.seed);
  how.runs = asked.runs.value_or(how.runs);
  if (asked.seconds > 0) how.limit_time(asked.seconds);
  if (asked.seconds > 0 || asked.search != "usual" || asked.runs) how.most_executions = 0;
  if (!asked.schedule.empty()) {
    how.search = search_kind::replay;
    how.schedule = schedule_from(asked.schedule);
  }
  return how;
}

// Shows on a terminal how far a search has come.
class progress_line {
 public:
  progress_line(std::string what, bool wanted)
      : what_(std::move(what)), wanted_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~progress_line() {
    if (shown_) fmt::print(stderr, "\r{:78}\r", "");
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void operator()(std::uint64_t executions, double seconds) {
    if (!wanted_ || seconds < next_) return;
    shown_ = true;
    next_ = seconds + 0.2;
    fmt::print(stderr, "\r{}: {} executions, {:.0f} s", what_, executions, seconds);
    std::fflush(stderr);
  }

 private:
  std::string what_;
  bool wanted_;
  bool shown_ = false;
  double next_ = 0.2;
};

record as_record(const named_scenario& which, const exploration& how, const result& of) {
  record made;
  made.set("scenario", which.name)
      .set("proves", which.proves)
      .set("memory", name_of(how.memory))
      .set("search", name_of(how.search))
      .set("complete", of.complete)
      .set("executions", of.executions)
      .set("abandoned", of.abandoned)
      .set("steps", of.steps)
      .set("seconds", of.seconds)
      .set("violation", of.failed ? name_of(of.found.what.kind) : "none");
  if (of.failed) made.set("what", of.found.what.what).set("schedule", to_text(of.found.schedule));
  return made;
}

// One line of output, followed by the failing execution if there is one to show.
std::string text_of(const named_scenario& which, const exploration& how, const result& of,
                    bool as_expected, bool always_shows_execution) {
  const std::uint64_t begun = of.executions + of.abandoned;
  std::string text =
      fmt::format("{:4} {:48} {:3}  {:10} {:>9} executions, {:>6.0f} per ms, {:6.2f} s{}{}\n",
                  as_expected ? "ok" : "FAIL", which.name, name_of(how.memory), name_of(how.search),
                  begun, static_cast<double>(begun) / of.seconds / 1000, of.seconds,
                  of.complete    ? ", search complete"
                  : of.too_large ? fmt::format(", larger than effort::{} says", name_of(which.size))
                                 : "",
                  of.failed ? fmt::format(", {}", name_of(of.found.what.kind)) : "");
  if (of.failed && (!as_expected || always_shows_execution)) {
    text += fmt::format("\n{}\n\n", describe(of.found, which.name, how.memory));
  }
  return text;
}

}  // namespace

int list_scenarios() {
  for (const named_scenario& each : catalogue()) {
    fmt::print("{:48} {:6}  {}\n", each.name, name_of(each.size), each.proves);
  }
  return 0;
}

int run_scenarios(const run_request& asked) {
  struct task {
    const named_scenario* which;
    memory_model memory;
    std::string name() const { return fmt::format("{} ({})", which->name, name_of(memory)); }
  };
  std::vector<task> tasks;
  for (const named_scenario* which : matching(asked.patterns)) {
    for (const memory_model memory : memory_models) {
      if (asked.memory == "all" || asked.memory == name_of(memory))
        tasks.push_back({which, memory});
    }
  }
  const bool is_alone = asked.processes == 1 || tasks.size() == 1;
  const auto start = std::chrono::steady_clock::now();
  std::vector<record> results;
  unsigned unexpected = 0;
  std::uint64_t executions = 0;
  std::uint64_t steps = 0;
  const auto explore_one = [&](std::size_t i) {
    const auto& [which, memory] = tasks[i];
    exploration how = exploration_of(asked, *which, memory);
    progress_line line(tasks[i].name(), !asked.quiet && is_alone);
    how.progress = std::ref(line);
    const result of = explore(which->describe, how);
    const bool fails = of.failed && of.found.what.kind == which->defect;
    const bool as_expected =
        !of.too_large && (which->fails_under_model(memory) ? fails : !of.failed);
    const std::string text = text_of(*which, how, of, as_expected, !asked.schedule.empty());
    return record()
        .set("text", text)
        .set("as expected", as_expected)
        .set("result", as_record(*which, how, of).to_line())
        .to_line();
  };
  const auto print_one = [&](std::size_t, const std::string& answer) {
    const record one = record::from_line(answer);
    results.push_back(record::from_line(one.get<std::string>("result")));
    fmt::print("{}", one.get<std::string>("text"));
    std::fflush(stdout);
    unexpected += one.get<bool>("as expected") ? 0 : 1;
    executions += results.back().get<std::uint64_t>("executions") +
                  results.back().get<std::uint64_t>("abandoned");
    steps += results.back().get<std::uint64_t>("steps");
  };
  in_processes(
      asked.processes, tasks.size(), [&](std::size_t i) { return tasks[i].name(); }, explore_one,
      print_one);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} executions with {} steps in {:.1f} s: {:.0f} executions per second\n", executions,
             steps, seconds, static_cast<double>(executions) / seconds);
  if (!asked.json.empty()) write_records(asked.json, results);
  return unexpected == 0 ? 0 : 1;
}

}  // namespace readmost::model
