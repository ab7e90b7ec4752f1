// SPDX-License-Identifier: Apache-2.0
#include "necessity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "catalogue.hpp"
#include "engine/report.hpp"
#include "record.hpp"

namespace readmost::model {

namespace {

struct named_letter {
  letter which;
  const char* name;
  const char* what;
  const char* partners;
};

constexpr named_letter letters[] = {
#define READMOST_NAMED(each, what, partners) {letter::each, #each, what, partners},
    READMOST_LETTERS(READMOST_NAMED)
#undef READMOST_NAMED
};

struct named_mutant {
  mutant which;
  const char* name;
  const char* what;
};

constexpr named_mutant mutants[] = {
#define READMOST_NAMED(each, what) {mutant::each, #each, what},
    READMOST_MUTANTS(READMOST_NAMED)
#undef READMOST_NAMED
};

// Forks, signals, deleters that retire through hazard pointers and threads that scan for others are
// not simulated, and a lock that gets its bias too early or too late, or a thread that waits for
// too long, costs nothing but time: unit tests catch these.
bool is_simulated(mutant which) {
  return which != mutant::fork_keeps_waiters && which != mutant::handler_takes_off_first_note &&
         which != mutant::one_pass && which != mutant::scan_keeps_unmarked &&
         which != mutant::own_lock_as_shared && which != mutant::bias_left_behind &&
         which != mutant::trial_without_verdict && which != mutant::fences_for_ever &&
         which != mutant::company_unheeded && which != mutant::absent_in_the_index &&
         which != mutant::yields_to_preferred_readers && which != mutant::phase_open_to_all &&
         which != mutant::yields_again_at_once && which != mutant::passed_writes_debited &&
         which != mutant::phase_without_bias;
}

// One order, fence or check, and how a scenario failed without it.
struct row {
  std::string name;
  std::string weakened;  // the order left over; empty for mutants
  std::string place;
  std::string what;
  std::string partners;
  std::string scenario;  // empty if no scenario failed
  std::string memory;
  std::string search;
  std::uint64_t executions = 0;
  std::string violation;
  std::string schedule;
};

std::string key_of(const row& which) {
  return which.weakened.empty() ? which.name : which.name + "=" + which.weakened;
}

record as_record(const row& of) {
  record made;
  made.set("name", of.name);
  if (!of.weakened.empty()) made.set("weakened", of.weakened);
  return made.set("scenario", of.scenario)
      .set("memory", of.memory)
      .set("search", of.search)
      .set("executions", of.executions)
      .set("violation", of.violation)
      .set("schedule", of.schedule);
}

row row_from(const record& from) {
  row made;
  made.name = from.get<std::string>("name");
  made.weakened = from.get<std::string>("weakened");
  made.scenario = from.get<std::string>("scenario");
  made.memory = from.get<std::string>("memory");
  made.search = from.get<std::string>("search");
  made.executions = from.get<std::uint64_t>("executions");
  made.violation = from.get<std::string>("violation");
  made.schedule = from.get<std::string>("schedule");
  return made;
}

std::map<std::string, row> read_rows(const std::string& path) {
  std::map<std::string, row> rows;
  for (const record& each : read_records(path)) {
    row made = row_from(each);
    rows[key_of(made)] = made;
  }
  return rows;
}

const named_scenario* scenario_named(const std::string& name) {
  const auto found = std::ranges::find_if(
      catalogue(), [&](const named_scenario& each) { return name == each.name; });
  return found == catalogue().end() ? nullptr : &*found;
}

constexpr memory_model weakest_first[] = {memory_model::release_acquire, memory_model::tso,
                                          memory_model::sequential};

exploration by_pct(memory_model memory, unsigned depth, std::uint64_t runs) {
  exploration how;
  how.memory = memory;
  how.search = search_kind::pct;
  how.bound = depth;
  how.runs = runs;
  return how;
}

exploration exhaustively(memory_model memory, double seconds) {
  exploration how;
  how.memory = memory;
  how.limit_time(seconds);
  return how;
}

// Finds out, by running all scenarios for a short while, which of them reach each letter, where in
// the source it stands, and with which orders.
class survey {
 public:
  survey() {
    for (const auto& each : catalogue()) {
      if (each.defect != violation_kind::none) continue;
      for (const memory_model memory : weakest_first) {
        forget_letters_met();
        explore(each.describe, by_pct(memory, 3, 300));
        for (const auto& place : letters_met()) {
          scenarios_[place.which].insert(each.name);
          auto& known = places_[place.which];
          std::string text = place_in_source(place.at);
          text.resize(text.find(':'));  // line numbers change too often
          if (std::ranges::find(known, text) == known.end()) known.push_back(text);
          orders_[place.which].insert({place.order, place.is_fence});
        }
      }
    }
  }

  bool is_met(letter which, const named_scenario& in) const {
    const auto found = scenarios_.find(which);
    return found != scenarios_.end() && found->second.contains(in.name);
  }

  std::string places(letter which) const {
    const auto found = places_.find(which);
    return found == places_.end() ? "" : fmt::format("`{}`", fmt::join(found->second, "`, `"));
  }

  // Each of the letter's orders made one step weaker; a fence is removed altogether.
  std::vector<std::memory_order> weaker(letter which) const {
    std::vector<std::memory_order> made;
    const auto add = [&](std::memory_order order) {
      if (std::ranges::find(made, order) == made.end()) made.push_back(order);
    };
    const auto found = orders_.find(which);
    if (found == orders_.end()) return made;
    for (const auto& [order, is_fence] : found->second) {
      if (is_fence || order == std::memory_order_acquire || order == std::memory_order_release) {
        add(std::memory_order_relaxed);
      } else if (order == std::memory_order_acq_rel) {
        add(std::memory_order_acquire);
        add(std::memory_order_release);
      } else if (order == std::memory_order_seq_cst) {
        add(std::memory_order_acq_rel);
      }
    }
    return made;
  }

 private:
  std::map<letter, std::set<std::string>> scenarios_;
  std::map<letter, std::vector<std::string>> places_;
  std::map<letter, std::set<std::pair<std::memory_order, bool>>> orders_;
};

// Explores one scenario, and fills in the row if it fails.
bool is_found(row& made, const named_scenario& in, const exploration& how) {
  const result of = explore(in.describe, how);
  if (!of.failed) return false;
  made.scenario = in.name;
  made.memory = name_of(how.memory);
  made.search = name_of(how.search);
  made.schedule = to_text(of.found.schedule);
  made.executions = of.found.execution;
  made.violation = name_of(of.found.what.kind);
  return true;
}

// Tries the recorded schedule. Since a schedule does not survive every change of the source, this
// falls back on searching the recorded scenario.
bool is_found_again(row& made, const row& known, double seconds) {
  const named_scenario* in = scenario_named(known.scenario);
  if (in == nullptr) return false;
  for (const memory_model memory : memory_models) {
    if (known.memory != name_of(memory)) continue;
    exploration how;
    how.memory = memory;
    how.search = search_kind::replay;
    how.schedule = schedule_from(known.schedule);
    how.shrinks = false;
    if (is_found(made, *in, how)) {
      // The tables tell of the search that found it first, not of the replay.
      made.search = known.search;
      made.executions = known.executions;
      made.schedule = known.schedule;
      return true;
    }
    return is_found(made, *in, by_pct(memory, 3, 20'000)) ||
           is_found(made, *in, exhaustively(memory, seconds));
  }
  return false;
}

// Searches many scenarios for a short time before any for a long time.
bool search_all(row& made, const std::vector<const named_scenario*>& where, double seconds) {
  for (const std::uint64_t runs : {std::uint64_t{1'000}, std::uint64_t{20'000}}) {
    for (const memory_model memory : weakest_first) {
      for (const named_scenario* in : where) {
        if (is_found(made, *in, by_pct(memory, 3, runs))) return true;
      }
    }
  }
  for (const memory_model memory : weakest_first) {
    for (const named_scenario* in : where) {
      if (in->size == effort::large) continue;
      if (is_found(made, *in, exhaustively(memory, seconds))) return true;
    }
  }
  return std::ranges::any_of(where, [&](const named_scenario* in) {
    return in->size == effort::large &&
           is_found(made, *in, by_pct(memory_model::release_acquire, 4, 200'000));
  });
}

void put_between_marks(const std::string& path, const std::string& name, const std::string& text) {
  std::ifstream in(path);
  if (!in) throw std::invalid_argument("cannot read '" + path + "'");
  std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::string begin = "<!-- " + name + ": made by make model -->\n";
  const std::string end = "<!-- end of " + name + " -->";
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos || to < from) {
    throw std::invalid_argument(fmt::format(
        "'{}' lacks the marks around the table of {}: '<!-- {}: made by make model -->' "
        "and '<!-- end of {} -->'",
        path, name, name, name));
  }
  page.replace(from + begin.size(), to - from - begin.size(), text);
  std::ofstream(path) << page;
}

std::string how_found(const row& of) {
  return fmt::format("{} in `{}` ({}, {} {})", of.violation, of.scenario, of.memory,
                     of.search == "pct" ? "at random, execution" : "execution", of.executions);
}

void write_tables(const std::string& path, const std::vector<row>& rows) {
  std::string letter_table =
      "| | Where | What | Partner | Weakened to | Then |\n|---|---|---|---|---|---|\n";
  std::string mutant_table = "| Mutant | What is wrong | Then |\n|---|---|---|\n";
  std::string last;
  for (const row& each : rows) {
    const std::string then = each.scenario.empty() ? "nothing" : how_found(each);
    if (each.weakened.empty()) {
      mutant_table += fmt::format("| `{}` | {} | {} |\n", each.name, each.what, then);
      continue;
    }
    const bool again = each.name == last;
    last = each.name;
    const bool is_fence = each.what.find(" fence,") != std::string::npos;
    letter_table +=
        fmt::format("| {} | {} | {} | {} | {} | {} |\n", each.name, again ? "" : each.place,
                    again ? "" : each.what, again ? "" : each.partners,
                    is_fence ? "nothing" : each.weakened, then);
  }
  put_between_marks(path, "letters", letter_table);
  put_between_marks(path, "mutants", mutant_table);
}

}  // namespace

mutant mutant_named(const std::string& name) {
  if (name == "none") return mutant::none;
  for (const auto& each : mutants) {
    if (name == each.name) return each.which;
  }
  throw std::invalid_argument("unknown mutant '" + name +
                              "'; choose one from include/readmost/detail/platform/mutant.hpp");
}

weakening weakening_named(const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  std::memory_order order = std::memory_order_relaxed;
  if (sign != std::string::npos) {
    constexpr std::memory_order orders[] = {std::memory_order_relaxed, std::memory_order_acquire,
                                            std::memory_order_release, std::memory_order_acq_rel};
    const std::string wanted = text.substr(sign + 1);
    const auto* const found =
        std::ranges::find_if(orders, [&](auto each) { return wanted == name_of(each); });
    if (found == std::end(orders)) {
      throw std::invalid_argument("unknown order '" + wanted +
                                  "'; choose one of relaxed, acquire, release, acq_rel");
    }
    order = *found;
  }
  for (const auto& each : letters) {
    if (name == each.name) return {each.which, order};
  }
  throw std::invalid_argument("unknown letter '" + name +
                              "'; choose one from include/readmost/detail/platform/letters.hpp");
}

int find_necessity(const necessity_request& asked) {
  const auto wanted = [&](const std::string& name) {
    return asked.names.empty() || std::ranges::find(asked.names, name) != asked.names.end();
  };
  for (const auto& name : asked.names) {
    if (std::ranges::none_of(letters, [&](const auto& each) { return name == each.name; })) {
      mutant_named(name);
    }
  }
  std::map<std::string, row> known = read_rows(asked.known);
  const survey met;
  unsigned missed = 0;

  // What to change: one letter is weakened, or one mutant is built in.
  struct task {
    row what;
    std::optional<weakening> weaker;
    mutant defect = mutant::none;
    bool may_be_in(const survey& met, const named_scenario& in) const {
      return !weaker || met.is_met(weaker->which, in);
    }
  };
  std::vector<task> tasks;
  for (const auto& each : letters) {
    if (!wanted(each.name)) continue;
    const auto orders = met.weaker(each.which);
    if (orders.empty()) {
      ++missed;
      fmt::print("MISSED {:28} no scenario reaches it\n", each.name);
    }
    for (const std::memory_order order : orders) {
      task made;
      made.what.name = each.name;
      made.what.weakened = name_of(order);
      made.what.place = met.places(each.which);
      made.what.what = each.what;
      made.what.partners = each.partners;
      made.weaker = weakening{each.which, order};
      tasks.push_back(made);
    }
  }
  for (const auto& each : mutants) {
    if (!wanted(each.name) || !is_simulated(each.which)) continue;
    task made;
    made.what.name = each.name;
    made.what.what = each.what;
    made.defect = each.which;
    tasks.push_back(made);
  }
  const std::size_t asked_for = tasks.size() + missed;

  const auto search = [&](const task& which, row& made) {
    const auto before = known.find(key_of(made));
    if (before != known.end() && is_found_again(made, before->second, asked.seconds)) return;
    if (asked.only_known) return;
    std::vector<const named_scenario*> where;
    for (const effort size : {effort::small, effort::medium, effort::large}) {
      for (const auto& each : catalogue()) {
        if (each.size == size && each.defect == violation_kind::none &&
            which.may_be_in(met, each)) {
          where.push_back(&each);
        }
      }
    }
    search_all(made, where, asked.seconds);
  };
  std::vector<row> rows;
  in_processes(
      asked.processes, tasks.size(), [&](std::size_t i) { return key_of(tasks[i].what); },
      [&](std::size_t i) {
        const auto started = std::chrono::steady_clock::now();
        row made = tasks[i].what;
        weaken(tasks[i].weaker);
        chosen_mutant = tasks[i].defect;
        search(tasks[i], made);
        weaken(std::nullopt);
        chosen_mutant = mutant::none;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - started;
        return as_record(made).set("seconds", took.count()).to_line();
      },
      [&](std::size_t i, const std::string& text) {
        const record answer = record::from_line(text);
        row made = row_from(answer);
        const bool found = !made.scenario.empty();
        missed += found ? 0 : 1;
        fmt::print("{:6} {:28} {} [{:.1f} s]\n", found ? "needed" : "MISSED", key_of(made),
                   found ? how_found(made) : "no scenario fails", answer.get<double>("seconds"));
        std::fflush(stdout);
        made.place = tasks[i].what.place;
        made.what = tasks[i].what.what;
        made.partners = tasks[i].what.partners;
        rows.push_back(made);
      });

  if (!asked.known.empty() && !asked.only_known) {
    if (asked.names.empty()) known.clear();  // some letters may have gone
    for (const row& each : rows) {
      if (!each.scenario.empty()) known[key_of(each)] = each;
    }
    std::vector<record> written;
    for (const auto& each : known) written.push_back(as_record(each.second));
    write_records(asked.known, written);
  }
  if (!asked.table.empty()) write_tables(asked.table, rows);
  fmt::print("{} of {} are needed\n", asked_for - missed, asked_for);
  return missed == 0 ? 0 : 1;
}

}  // namespace readmost::model
