// SPDX-License-Identifier: Apache-2.0
// The hash table of RocksDB's hash_table_bench: std::unordered_map from numbers to strings of 1000
// bytes, without a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace bench {

class string_table {
 public:
  // The value of a key.
  static std::string value_of(std::uint64_t key);
  // Compares the length and the first and last character.
  static bool is_value_of(std::uint64_t key, const std::string& value);

  // False if the key was in the table.
  bool insert(std::uint64_t key, const std::string& value);
  // False if the key was not in the table.
  bool erase(std::uint64_t key);
  // Copies the value; false if the key is not in the table.
  bool look_up(std::uint64_t key, std::string& value) const;
  std::size_t size() const { return map_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::string> map_;
};

}  // namespace bench
