// readmost-model: explores the scenarios of the catalogue. See docs/checking.md.
#include <fmt/format.h>
#include <fnmatch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <readmost/detail/platform/mutant.hpp>
#include <stdexcept>

#include "catalogue.hpp"
#include "engine/report.hpp"
#include "engine/weakening.hpp"
#include "necessity.hpp"
#include "processes.hpp"
#include "scenarios/library_names.hpp"
#include "speed.hpp"

namespace readmost::model {

namespace {

struct request {
  std::vector<std::string> patterns;
  std::string memory = "all";
  std::string search = "usual";
  std::optional<unsigned> bound;
  std::optional<std::uint64_t> seed;
  std::optional<std::uint64_t> runs;
  double seconds = 0;
  std::string schedule;
  std::string mutant = "none";
  std::string letter;
  std::string json;
  bool quiet = false;
  unsigned processes = usual_processes();
};

std::vector<memory_model> models_of(const std::string& name) {
  if (name == "sc") return {memory_model::sequential};
  if (name == "tso") return {memory_model::tso};
  if (name == "ra") return {memory_model::release_acquire};
  return {memory_model::sequential, memory_model::tso, memory_model::release_acquire};
}

std::vector<const named_scenario*> matching(const std::vector<std::string>& patterns) {
  std::vector<const named_scenario*> found;
  for (const named_scenario& each : catalogue()) {
    bool wanted = patterns.empty();
    for (const auto& pattern : patterns) wanted |= fnmatch(pattern.c_str(), each.name, 0) == 0;
    if (wanted) found.push_back(&each);
  }
  for (const auto& pattern : patterns) {
    const bool met = std::any_of(found.begin(), found.end(), [&](const named_scenario* each) {
      return fnmatch(pattern.c_str(), each->name, 0) == 0;
    });
    if (!met) {
      throw std::invalid_argument(
          fmt::format("no scenario is called '{}'; 'readmost-model list' names them", pattern));
    }
  }
  return found;
}

exploration exploration_of(const request& asked, const named_scenario& which, memory_model memory) {
  exploration how = usual_exploration(which, memory);
  if (asked.search == "exhaustive") how.search = search_kind::exhaustive;
  if (asked.search == "bounded") how.search = search_kind::bounded;
  if (asked.search == "random") how.search = search_kind::random;
  if (asked.search == "pct") how.search = search_kind::pct;
  if (asked.search == "plain") how.search = search_kind::plain;
  if (asked.bound) how.bound = *asked.bound;
  if (asked.seed) how.seed = *asked.seed;
  if (asked.runs) how.runs = *asked.runs;
  if (asked.seconds > 0) {
    how.time = std::chrono::milliseconds(static_cast<long>(asked.seconds * 1000));
  }
  if (!asked.schedule.empty()) {
    how.search = search_kind::replay;
    how.schedule = schedule_from(asked.schedule);
  }
  return how;
}

// A line that shows how far the search is, on a terminal only.
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

nlohmann::ordered_json as_json(const named_scenario& which, const exploration& how,
                               const result& of) {
  nlohmann::ordered_json made;
  made["scenario"] = which.name;
  made["proves"] = which.proves;
  made["memory"] = name_of(how.memory);
  made["search"] = name_of(how.search);
  made["complete"] = of.complete;
  made["executions"] = of.executions;
  made["abandoned"] = of.abandoned;
  made["steps"] = of.steps;
  made["seconds"] = of.seconds;
  made["violation"] = of.failed ? name_of(of.found.what.kind) : "none";
  if (of.failed) {
    made["what"] = of.found.what.what;
    made["schedule"] = to_text(of.found.schedule);
  }
  return made;
}

// Whether the result is what the catalogue says it has to be.
bool is_as_expected(const named_scenario& which, memory_model memory, const result& of) {
  const bool to_fail = which.defect != violation_kind::none &&
                       (which.fails_under & (1U << static_cast<unsigned>(memory))) != 0;
  return to_fail ? of.failed && of.found.what.kind == which.defect : !of.failed;
}

// One line of output, and what follows it where something is wrong.
std::string text_of(const named_scenario& which, const exploration& how, const result& of,
                    bool fine, bool tells_schedule) {
  const std::uint64_t begun = of.executions + of.abandoned;
  std::string text =
      fmt::format("{:4} {:48} {:3}  {:10} {:>9} executions, {:>6.0f} a ms, {:6.2f} s{}{}\n",
                  fine ? "ok" : "FAIL", which.name, name_of(how.memory), name_of(how.search), begun,
                  static_cast<double>(begun) / of.seconds / 1000, of.seconds,
                  of.complete ? ", all there are" : "",
                  of.failed ? fmt::format(", {}", name_of(of.found.what.kind)) : "");
  if (of.failed && (!fine || tells_schedule)) {
    text += fmt::format("\n{}\n\n", describe(of.found, which.name, how.memory));
  }
  return text;
}

int run(const request& asked) {
  struct task {
    const named_scenario* which;
    memory_model memory;
    std::string name() const { return fmt::format("{} ({})", which->name, name_of(memory)); }
  };
  std::vector<task> tasks;
  for (const named_scenario* which : matching(asked.patterns)) {
    for (const memory_model memory : models_of(asked.memory)) tasks.push_back({which, memory});
  }
  const bool is_alone = asked.processes == 1 || tasks.size() == 1;
  const auto start = std::chrono::steady_clock::now();
  nlohmann::ordered_json results = nlohmann::ordered_json::array();
  unsigned unexpected = 0;
  std::uint64_t executions = 0;
  std::uint64_t steps = 0;
  in_processes(
      asked.processes, tasks.size(), [&](std::size_t i) { return tasks[i].name(); },
      [&](std::size_t i) {
        const auto& [which, memory] = tasks[i];
        exploration how = exploration_of(asked, *which, memory);
        progress_line line(tasks[i].name(), !asked.quiet && is_alone);
        how.progress = std::ref(line);
        const result of = explore(which->describe, how);
        const bool fine = is_as_expected(*which, memory, of);
        return nlohmann::ordered_json{
            {"text", text_of(*which, how, of, fine, !asked.schedule.empty())},
            {"fine", fine},
            {"result", as_json(*which, how, of)}}
            .dump();
      },
      [&](std::size_t, const std::string& answer) {
        const auto one = nlohmann::ordered_json::parse(answer);
        const auto& result = one["result"];
        fmt::print("{}", one["text"].get<std::string>());
        std::fflush(stdout);
        unexpected += one["fine"].get<bool>() ? 0 : 1;
        executions += result["executions"].get<std::uint64_t>();
        executions += result["abandoned"].get<std::uint64_t>();
        steps += result["steps"].get<std::uint64_t>();
        results.push_back(result);
      });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{} executions of {} steps in {:.1f} s: {:.0f} a second\n", executions, steps, seconds,
             static_cast<double>(executions) / seconds);
  if (!asked.json.empty()) std::ofstream(asked.json) << results.dump(2) << '\n';
  return unexpected == 0 ? 0 : 1;
}

int list() {
  for (const named_scenario& each : catalogue()) {
    fmt::print("{:48} {:6}  {}\n", each.name, name_of(each.size), each.proves);
  }
  return 0;
}

int main_of(int count, char** words) {
  CLI::App app{"Explores executions of the library's own source on a simulated machine."};
  app.require_subcommand(1);
  request asked;
  const auto add_processes = [](CLI::App* to, unsigned& processes) {
    to->add_option("--processes", processes, "that search side by side: as many as there are CPUs")
        ->check(CLI::Range(1U, 1024U));
  };
  const auto add_choices = [&](CLI::App* to) {
    to->add_option("--mutant", asked.mutant,
                   "with a deliberate defect (include/readmost/detail/platform/mutant.hpp)");
    to->add_option("--weaken", asked.letter,
                   "without an order or fence, by LETTER or LETTER=ORDER "
                   "(include/readmost/detail/platform/letters.hpp)");
    to->add_option("--memory", asked.memory, "sc, tso, ra or all")
        ->check(CLI::IsMember({"sc", "tso", "ra", "all"}));
    to->add_option("--json", asked.json, "file for the results");
    to->add_flag("--quiet", asked.quiet, "no progress line, which a search alone has");
  };

  CLI::App* listing = app.add_subcommand("list", "the scenarios, their size and what they prove");

  CLI::App* running = app.add_subcommand("run", "explores scenarios");
  running->add_option("--scenario,SCENARIO", asked.patterns, "names or patterns; all when none");
  running
      ->add_option("--search", asked.search,
                   "usual: by the scenario's size; exhaustive, bounded, pct, random, plain")
      ->check(CLI::IsMember({"usual", "exhaustive", "bounded", "pct", "random", "plain"}));
  running->add_option("--bound", asked.bound, "bounded: surprises; pct: depth");
  running->add_option("--seed", asked.seed, "pct, random: of the first execution");
  running->add_option("--runs", asked.runs, "pct, random: executions");
  running->add_option("--time", asked.seconds, "seconds for each scenario and model");
  running->add_option("--schedule", asked.schedule, "one execution, as printed with a violation");
  add_processes(running, asked.processes);
  add_choices(running);

  necessity_request needed;
  CLI::App* weighing =
      app.add_subcommand("necessity",
                         "weakens each lettered order and fence in turn, and tries "
                         "each mutant: every one has to be found");
  weighing->add_option("NAME", needed.names, "letters and mutants; all when none");
  weighing->add_option("--time", needed.seconds, "seconds for each scenario and model")
      ->check(CLI::PositiveNumber);
  weighing->add_option("--known", needed.known,
                       "file of what was found before: tried first, rewritten");
  weighing->add_flag("--only-known", needed.only_known, "tries nothing else, writes nothing")
      ->needs("--known");
  add_processes(weighing, needed.processes);
  weighing->add_option("--table", needed.table, "page that has marks for the tables");

  CLI::App* timing =
      app.add_subcommand("speed", "how many executions a second, in simple scenarios");

  CLI11_PARSE(app, count, words);
  name_library_variables();
  if (listing->parsed()) return list();
  if (weighing->parsed()) return find_necessity(needed);
  if (timing->parsed()) return measure_speed();
  chosen_mutant = mutant_named(asked.mutant);
  if (!asked.letter.empty()) weaken(weakening_named(asked.letter));
  return run(asked);
}

}  // namespace

}  // namespace readmost::model

int main(int count, char** words) {
  try {
    return readmost::model::main_of(count, words);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "readmost-model: {}\n", failure.what());
    return 2;
  }
}
