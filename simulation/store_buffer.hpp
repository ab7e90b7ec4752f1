// SPDX-License-Identifier: Apache-2.0
// The store buffer of a CPU: its stores reach memory behind its back, in their order (TSO), or each
// as soon as its line is there (Arm), except that those with `release` come after all before them
// and those to one line stay in their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <source_location>

namespace readmost::simulation {

// The values of simulated variables lie where the variables are. Those of plain ones change at
// once: nobody else may look meanwhile, and one on a thread's stack may be gone when its store
// leaves the buffer.
inline std::uint64_t value_at(const void* address, std::uint32_t size) {
  std::uint64_t made = 0;
  std::memcpy(&made, address, size);
  return made;
}
inline void set_value_at(void* address, std::uint32_t size, std::uint64_t value) {
  std::memcpy(address, &value, size);
}

struct buffered_store {
  void* address;
  std::uint32_t size;
  std::uint64_t value;
  std::source_location at;
  bool release = false;
  bool plain = false;  // takes its time, and the value is in memory already
  // Arm: the line has been asked for, and comes then.
  bool asked = false;
  std::uint64_t comes = 0;
};

class store_buffer {
 public:
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  void add(const buffered_store& store) { entries_.push_back(store); }
  const buffered_store& oldest() const { return entries_.front(); }
  void take_oldest() { entries_.pop_front(); }
  buffered_store& operator[](std::size_t i) { return entries_[i]; }
  void take(std::size_t i) { entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i)); }
  bool has_release() const { return std::ranges::any_of(entries_, &buffered_store::release); }
  // Whether it may reach memory before those ahead of it.
  bool may_pass(std::size_t i) const {
    if (entries_[i].release) return i == 0;
    const auto line = [](const buffered_store& of) {
      return reinterpret_cast<std::uintptr_t>(of.address) / 64;
    };
    for (std::size_t before = 0; before < i; ++before) {
      if (line(entries_[before]) == line(entries_[i])) return false;
    }
    return true;
  }

  bool overlaps(const void* address, std::uint32_t size) const {
    for (const buffered_store& store : entries_) {
      if (overlap(store, address, size)) return true;
    }
    return false;
  }
  // What the CPU itself reads there.
  std::uint64_t value_seen(const void* address, std::uint32_t size) const {
    unsigned char bytes[sizeof(std::uint64_t)] = {};
    std::memcpy(bytes, address, size);
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    for (const buffered_store& store : entries_) {
      if (store.plain) continue;
      const auto first = reinterpret_cast<std::uintptr_t>(store.address);
      for (std::uint32_t i = 0; i < store.size; ++i) {
        if (first + i >= begin && first + i < begin + size) {
          bytes[first + i - begin] = static_cast<unsigned char>(store.value >> 8 * i);
        }
      }
    }
    return value_at(bytes, sizeof bytes);
  }

 private:
  static bool overlap(const buffered_store& store, const void* address, std::uint32_t size) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address);
    const auto first = reinterpret_cast<std::uintptr_t>(store.address);
    return first < begin + size && begin < first + store.size;
  }

  std::deque<buffered_store> entries_;
};

}  // namespace readmost::simulation
