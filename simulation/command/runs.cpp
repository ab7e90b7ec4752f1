// SPDX-License-Identifier: Apache-2.0
#include "simulation/command/runs.hpp"

#include <fmt/format.h>

#include "processes.hpp"

namespace readmost::simulation {

namespace {

using nlohmann::json;

double cycles(double time, double ghz) {
  return time * ghz / 1000;
}

json as_json(const latencies& of, double ghz) {
  json made{{"count", of.count()}};
  if (of.count() != 0) {
    made["mean"] = cycles(of.mean(), ghz);
    for (const auto& [name, share] :
         {std::pair{"p10", 0.1}, {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"max", 1.0}}) {
      made[name] = cycles(static_cast<double>(of.quantile(share)), ghz);
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
            {"interrupts", of.interrupts},
            {"accesses", of.accesses}};
  duration all = 0;
  for (const duration each : of.spent) all += each;
  for (unsigned i = 0; i < spendings; ++i) {
    made["spent"][name_of(static_cast<spending>(i))] =
        all == 0 ? 0 : static_cast<double>(of.spent[i]) / static_cast<double>(all);
  }
  made["lines"] = json::array();
  for (const hot_line& each : of.lines) {
    json places = json::array();
    for (const asking_place& place : each.places) {
      places.push_back({{"place", short_place(place.where)},
                        {"transfers", place.transfers},
                        {"waited", cycles(static_cast<double>(place.waited), ghz)}});
    }
    made["lines"].push_back({{"places", std::move(places)},
                             {"transfers", each.transfers},
                             {"waited", cycles(static_cast<double>(each.waited), ghz)}});
  }
  return made;
}

}  // namespace

std::string run::name() const {
  return fmt::format("{} with {} threads{}{}", with->name, how.threads,
                     on->name.empty() ? "" : ", ", on->name);
}

void execute(const workload& what, const std::vector<run>& runs, unsigned processes,
             const std::function<void(std::size_t, const json&)>& done) {
  // Each run finds the library's variables as they are at the start of the program.
  model::in_own_processes(
      processes, runs.size(), [&](std::size_t i) { return runs[i].name(); },
      [&](std::size_t i) {
        const run& now = runs[i];
        json made = as_json(what.run(now.on->machine, *now.with, now.how), now.on->machine.ghz);
        made["machine"] = now.on->machine.name;
        made["variation"] = now.on->name;
        made["lock"] = what.subject.empty() ? now.with->name : what.subject;
        made["workload"] = what.name;
        made["threads"] = now.how.threads;
        made["seed"] = now.how.seed;
        return made.dump();
      },
      [&](std::size_t i, const std::string& text) { done(i, json::parse(text)); });
}

}  // namespace readmost::simulation
