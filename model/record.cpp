// SPDX-License-Identifier: Apache-2.0
#include "record.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace readmost::model {

namespace {

using json = nlohmann::ordered_json;

record record_from(const json& object) {
  record made;
  for (const auto& [name, of] : object.items()) {
    if (of.is_boolean()) {
      made.set(name, of.get<bool>());
    } else if (of.is_number_unsigned()) {
      made.set(name, of.get<std::uint64_t>());
    } else if (of.is_number()) {
      made.set(name, of.get<double>());
    } else {
      made.set(name, of.get<std::string>());
    }
  }
  return made;
}

}  // namespace

std::string record::to_line() const {
  json made = json::object();
  for (const auto& [name, of] : fields_) {
    std::visit([&](const auto& plain) { made[name] = plain; }, of);
  }
  return made.dump();
}

record record::from_line(const std::string& line) {
  return record_from(json::parse(line));
}

void write_records(const std::string& path, const std::vector<record>& records) {
  std::ofstream file(path);
  const char* before = "[\n";
  for (const record& each : records) {
    file << before << each.to_line();
    before = ",\n";
  }
  file << (records.empty() ? "[]\n" : "\n]\n");
}

std::vector<record> read_records(const std::string& path) {
  std::vector<record> records;
  if (std::ifstream file(path); file) {
    for (const auto& each : json::parse(file)) records.push_back(record_from(each));
  }
  return records;
}

}  // namespace readmost::model
