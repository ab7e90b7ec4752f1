// The hash table of RocksDB's hash_table_bench: std::unordered_map from numbers to strings of 1000
// bytes. It has no lock of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace bench {

class string_table {
 public:
  // What every key has for a value.
  static std::string value_of(std::uint64_t key);
  // Whether `value` is that, by its length and by its first and its last character.
  static bool is_value_of(std::uint64_t key, const std::string& value);

  // False if it was there already.
  bool insert(std::uint64_t key, const std::string& value);
  // False if it was not there.
  bool erase(std::uint64_t key);
  // Copies the value out; false if the key is not there.
  bool look_up(std::uint64_t key, std::string& value) const;
  std::size_t size() const { return map_.size(); }

 private:
  std::unordered_map<std::uint64_t, std::string> map_;
};

}  // namespace bench
