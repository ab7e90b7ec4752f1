// The store buffer of a CPU: its stores reach memory in their order, behind its back (TSO).
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <source_location>

namespace readmost::simulation {

// The values of simulated variables lie where the variables are.
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
};

class store_buffer {
 public:
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  void add(const buffered_store& store) { entries_.push_back(store); }
  const buffered_store& oldest() const { return entries_.front(); }
  void write_oldest() {
    const buffered_store& store = entries_.front();
    set_value_at(store.address, store.size, store.value);
    entries_.pop_front();
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
