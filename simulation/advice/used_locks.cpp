// SPDX-License-Identifier: Apache-2.0
#include "simulation/advice/used_locks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace readmost::simulation {

namespace {

using nlohmann::json;

std::string name_of(const json& lock) {
  const json& place = lock.at("place");
  if (place.at("symbol").is_string()) {
    const auto offset = place.at("symbol_offset").get<std::uint64_t>();
    const auto symbol = place.at("symbol").get<std::string>();
    return offset == 0 ? symbol : fmt::format("{}+{}", symbol, offset);
  }
  const auto address = lock.at("lock").get<std::string>();
  if (!place.at("mapping").is_string()) return address;
  return fmt::format("{} in {}", address, place.at("mapping").get<std::string>());
}

std::uint64_t reads_of(const json& of) {
  return of.at("reads").at("passive").get<std::uint64_t>() +
         of.at("reads").at("active").get<std::uint64_t>();
}

double waited_for(const json& lock) {
  const json& waits = lock.at("waits");
  return waits.at("readers").at("total").get<double>() +
         waits.at("writers").at("total").get<double>();
}

observed_program program_of(const json& line) {
  observed_program made{.name = line.at("program"), .seconds = line.at("seconds"), .locks = {}};
  for (const json& each : line.at("hottest")) {
    made.locks.push_back({name_of(each), reads_of(each), each.at("writes"), waited_for(each)});
  }
  std::ranges::sort(made.locks, std::ranges::greater(),
                    [](const used_lock& each) { return each.reads + each.writes; });
  return made;
}

}  // namespace

observed_program read_statistics(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error(fmt::format("cannot read '{}'", file));
  observed_program found;
  std::uint64_t most = 0;
  unsigned number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    try {
      const json line = json::parse(text);
      if (!line.contains("hottest")) continue;  // of a lock that is not Readmost's
      const std::uint64_t uses = reads_of(line) + line.at("writes").get<std::uint64_t>();
      if (uses < most) continue;
      most = uses;
      found = program_of(line);
    } catch (const json::exception& problem) {
      throw std::runtime_error(fmt::format(
          "'{}', line {}, is no statistics of Readmost ({}); 'readmost run --stats=FILE.json -- "
          "PROGRAM' writes them",
          file, number, problem.what()));
    }
  }
  if (found.locks.empty() || !(found.seconds > 0)) {
    throw std::runtime_error(fmt::format(
        "'{}' tells of no lock; 'readmost run --stats=FILE.json -- PROGRAM' writes what a program "
        "does with its locks",
        file));
  }
  return found;
}

}  // namespace readmost::simulation
