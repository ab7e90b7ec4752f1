// SPDX-License-Identifier: Apache-2.0
#include "contenders/locks/string_table.hpp"

namespace bench {

std::string string_table::value_of(std::uint64_t key) {
  return std::string(1000, static_cast<char>(key % 255));
}

bool string_table::is_value_of(std::uint64_t key, const std::string& value) {
  const char expected = static_cast<char>(key % 255);
  return value.size() == 1000 && value.front() == expected && value.back() == expected;
}

bool string_table::insert(std::uint64_t key, const std::string& value) {
  return map_.insert({key, value}).second;
}

bool string_table::erase(std::uint64_t key) {
  return map_.erase(key) == 1;
}

bool string_table::look_up(std::uint64_t key, std::string& value) const {
  const auto found = map_.find(key);
  if (found == map_.end()) return false;
  value = found->second;
  return true;
}

}  // namespace bench
