#include "necessity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>

#include "catalogue.hpp"
#include "engine/report.hpp"

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

// Forks are not.
bool is_simulated(mutant which) {
  return which != mutant::fork_keeps_waiters;
}

constexpr memory_model models[] = {memory_model::release_acquire, memory_model::tso,
                                   memory_model::sequential};

// One thing taken away, and how that was found.
struct row {
  std::string name;
  std::string weakened;  // the order that is left; empty for mutants
  std::string place;
  std::string what;
  std::string partners;
  std::string scenario;
  std::string memory;
  std::string search;
  std::string schedule;
  std::uint64_t executions = 0;
  std::string violation;
};

std::string key_of(const row& which) {
  return which.weakened.empty() ? which.name : which.name + "=" + which.weakened;
}

nlohmann::ordered_json as_json(const row& of) {
  nlohmann::ordered_json made;
  made["name"] = of.name;
  if (!of.weakened.empty()) made["weakened"] = of.weakened;
  made["scenario"] = of.scenario;
  made["memory"] = of.memory;
  made["search"] = of.search;
  made["executions"] = of.executions;
  made["violation"] = of.violation;
  made["schedule"] = of.schedule;
  return made;
}

row row_from(const nlohmann::json& from) {
  row made;
  made.name = from.at("name");
  made.weakened = from.value("weakened", "");
  made.scenario = from.at("scenario");
  made.memory = from.at("memory");
  made.search = from.at("search");
  made.executions = from.at("executions");
  made.violation = from.at("violation");
  made.schedule = from.at("schedule");
  return made;
}

// By key.
std::map<std::string, row> read_rows(const std::string& path) {
  std::map<std::string, row> rows;
  std::ifstream file(path);
  if (!file) return rows;
  for (const auto& each : nlohmann::json::parse(file)) {
    row made = row_from(each);
    rows[key_of(made)] = made;
  }
  return rows;
}

const named_scenario* scenario_named(const std::string& name) {
  for (const auto& each : catalogue()) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

// Where each letter is met, and with which order.
class survey {
 public:
  survey() {
    for (const auto& each : catalogue()) {
      if (each.defect != violation_kind::none) continue;
      for (const memory_model memory : models) {
        forget_letters_met();
        exploration how;
        how.memory = memory;
        how.search = search_kind::pct;
        how.bound = 3;
        how.runs = 300;
        explore(each.describe, how);
        for (const auto& place : letters_met()) {
          scenarios_[place.which].insert(each.name);
          auto& known = places_[place.which];
          std::string text = place_in_source(place.at);
          text.resize(text.find(':'));  // lines move
          if (std::find(known.begin(), known.end(), text) == known.end()) known.push_back(text);
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

  // One step weaker each. A fence goes as a whole.
  std::vector<std::memory_order> weaker(letter which) const {
    std::vector<std::memory_order> made;
    const auto add = [&](std::memory_order order) {
      if (std::find(made.begin(), made.end(), order) == made.end()) made.push_back(order);
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

// Explores one scenario; the row is filled in if that finds something wrong.
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

exploration by_lots(memory_model memory, unsigned depth, std::uint64_t runs) {
  exploration how;
  how.memory = memory;
  how.search = search_kind::pct;
  how.bound = depth;
  how.runs = runs;
  return how;
}

// How it was found in the first place is told of it.
row known_as(row made, const row& known) {
  made.search = known.search;
  made.executions = known.executions;
  made.schedule = known.schedule;
  return made;
}

// As it was found before; in the same scenario at least, for a schedule does not survive each
// change of the source.
bool is_found_again(row& made, const row& known, double seconds) {
  const named_scenario* in = scenario_named(known.scenario);
  if (in == nullptr) return false;
  for (const memory_model memory : models) {
    if (known.memory != name_of(memory)) continue;
    exploration how;
    how.memory = memory;
    how.search = search_kind::replay;
    how.schedule = schedule_from(known.schedule);
    how.shrinks = false;
    if (is_found(made, *in, how)) {
      made = known_as(made, known);
      return true;
    }
    if (is_found(made, *in, by_lots(memory, 3, 20'000))) return true;
    how = exploration{};
    how.memory = memory;
    how.time = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
    return is_found(made, *in, how);
  }
  return false;
}

bool search_all(row& made, const std::vector<const named_scenario*>& where, double seconds) {
  for (const std::uint64_t runs : {std::uint64_t{1'000}, std::uint64_t{20'000}}) {
    for (const memory_model memory : models) {
      for (const named_scenario* in : where) {
        if (is_found(made, *in, by_lots(memory, 3, runs))) return true;
      }
    }
  }
  for (const memory_model memory : models) {
    for (const named_scenario* in : where) {
      if (in->size == effort::large) continue;
      exploration how;
      how.memory = memory;
      how.time = std::chrono::milliseconds(static_cast<long>(seconds * 1000));
      if (is_found(made, *in, how)) return true;
    }
  }
  for (const named_scenario* in : where) {
    if (in->size != effort::large) continue;
    if (is_found(made, *in, by_lots(memory_model::release_acquire, 4, 200'000))) return true;
  }
  return false;
}

void put_between_marks(const std::string& path, const std::string& name, const std::string& text) {
  std::ifstream in(path);
  if (!in) throw std::invalid_argument("cannot read " + path);
  std::string page{std::istreambuf_iterator<char>(in), {}};
  const std::string begin = "<!-- " + name + ": made by make model -->\n";
  const std::string end = "<!-- end of " + name + " -->";
  const std::size_t from = page.find(begin);
  const std::size_t to = page.find(end);
  if (from == std::string::npos || to == std::string::npos || to < from) {
    throw std::invalid_argument(
        fmt::format("{} lacks the marks between which the table of {} goes", path, name));
  }
  page.replace(from + begin.size(), to - from - begin.size(), text);
  std::ofstream(path) << page;
}

std::string how_found(const row& of) {
  return fmt::format("{} in `{}` ({}, {} {})", of.violation, of.scenario, of.memory,
                     of.search == "pct" ? "by lots, execution" : "execution", of.executions);
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
  throw std::invalid_argument("there is no mutant '" + name +
                              "'; include/readmost/detail/platform/mutant.hpp lists them");
}

weakening weakening_named(const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  std::memory_order order = std::memory_order_relaxed;
  if (sign != std::string::npos) {
    const std::string wanted = text.substr(sign + 1);
    bool known = false;
    for (const auto each : {std::memory_order_relaxed, std::memory_order_acquire,
                            std::memory_order_release, std::memory_order_acq_rel}) {
      if (wanted != name_of(each)) continue;
      order = each;
      known = true;
    }
    if (!known) {
      throw std::invalid_argument("there is no order '" + wanted +
                                  "' to weaken to; there are relaxed, acquire, release, acq_rel");
    }
  }
  for (const auto& each : letters) {
    if (name == each.name) return {each.which, order};
  }
  throw std::invalid_argument("there is no letter '" + name +
                              "'; include/readmost/detail/platform/letters.hpp lists them");
}

int find_necessity(const necessity_request& asked) {
  const auto wanted = [&](const std::string& name) {
    return asked.names.empty() ||
           std::find(asked.names.begin(), asked.names.end(), name) != asked.names.end();
  };
  for (const auto& name : asked.names) {
    const bool is_letter = std::any_of(std::begin(letters), std::end(letters),
                                       [&](const auto& each) { return name == each.name; });
    if (!is_letter) mutant_named(name);
  }
  std::map<std::string, row> known = read_rows(asked.known);
  const survey met;
  unsigned missed = 0;

  // What to take away, and where.
  struct task {
    row what;
    std::optional<weakening> weaker;  // or
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
      fmt::print("MISSED {:28} no scenario comes by it\n", each.name);
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
        auto answer = as_json(made);
        answer["seconds"] =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
        return answer.dump();
      },
      [&](std::size_t i, const std::string& text) {
        const auto answer = nlohmann::json::parse(text);
        row made = row_from(answer);
        const bool found = !made.scenario.empty();
        missed += found ? 0 : 1;
        fmt::print("{:6} {:28} {} [{:.1f} s]\n", found ? "needed" : "MISSED", key_of(made),
                   found ? how_found(made) : "nothing is found", answer["seconds"].get<double>());
        std::fflush(stdout);
        made.place = tasks[i].what.place;
        made.what = tasks[i].what.what;
        made.partners = tasks[i].what.partners;
        rows.push_back(made);
      });

  if (!asked.known.empty() && !asked.only_known) {
    if (asked.names.empty()) known.clear();  // of letters that are no more
    for (const row& each : rows) {
      if (!each.scenario.empty()) known[key_of(each)] = each;
    }
    nlohmann::ordered_json written = nlohmann::ordered_json::array();
    for (const auto& each : known) written.push_back(as_json(each.second));
    std::ofstream(asked.known) << written.dump(1) << '\n';
  }
  if (!asked.table.empty()) write_tables(asked.table, rows);
  fmt::print("{} of {} were found to be needed\n", asked_for - missed, asked_for);
  return missed == 0 ? 0 : 1;
}

}  // namespace readmost::model
