// SPDX-License-Identifier: Apache-2.0
// Hash tables of what the checker knows of an address. Entries are never removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <vector>

namespace readmost::model {

constexpr std::size_t table_size = 1U << 14;

constexpr std::size_t place_of(std::uintptr_t address) noexcept {
  return static_cast<std::size_t>((address * 0x9E37'79B9'7F4A'7C15U) >> 50);
}
static_assert(table_size == 1U << (64 - 50));

// Adds an entry if there is none.
template <class T>
T& look_up(std::vector<T*>& table, std::deque<T>& all, std::uintptr_t address) {
  for (std::size_t place = place_of(address);; place = (place + 1) % table_size) {
    T*& entry = table[place];
    if (entry != nullptr && entry->address == address) return *entry;
    if (entry == nullptr) {
      if (all.size() > table_size / 2) throw std::length_error("too many variables");
      entry = &all.emplace_back();
      entry->address = address;
      return *entry;
    }
  }
}

}  // namespace readmost::model
