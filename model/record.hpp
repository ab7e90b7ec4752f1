// SPDX-License-Identifier: Apache-2.0
// A flat JSON object: how child processes report their results and how files keep them. Only
// record.cpp includes the JSON library, which takes seconds to compile.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace readmost::model {

class record {
 public:
  using value = std::variant<bool, std::uint64_t, double, std::string>;

  record& set(std::string name, value of) {
    fields_.emplace_back(std::move(name), std::move(of));
    return *this;
  }
  // The value of a field, or T{} if the record lacks it. Throws std::bad_variant_access if the
  // field has another type.
  template <class T>
  T get(const std::string& name) const {
    for (const auto& [known, of] : fields_) {
      if (known == name) return std::get<T>(of);
    }
    return {};
  }

  std::string to_line() const;
  static record from_line(const std::string& line);

 private:
  std::vector<std::pair<std::string, value>> fields_;
};

// A file holds one array, with one record per line.
void write_records(const std::string& path, const std::vector<record>& records);
// Returns nothing if the file does not exist.
std::vector<record> read_records(const std::string& path);

}  // namespace readmost::model
