// SPDX-License-Identifier: Apache-2.0
// Reader-Writer-Lock/RCU Analogy (RCU 4.1.8): examples/shared_map.cpp, converted.
#pragma once

#include <cstdint>
#include <mutex>
#include <readmost/rcu_hash_map.hpp>
#include <shared_mutex>
#include <unordered_map>

#include "form.hpp"
#include "twin_counter.hpp"

namespace examples::map {

inline constexpr std::uint32_t keys = 64;

class before {
 public:
  before() {
    for (std::uint32_t key = 0; key < keys; ++key) map_[key];
  }

  void read(xorshift& random) {
    const std::uint32_t key = any_of(keys, random);
    const std::shared_lock guard{mutex_};
    const auto found = map_.find(key);
    require(found != map_.end(), "a reader did not find a key that is in the map");
    found->second.value();
  }

  void write(xorshift& random) {
    const std::uint32_t key = any_of(keys, random);
    const std::unique_lock guard{mutex_};
    map_.find(key)->second.increment();
  }

  void check(std::uint64_t, std::uint64_t writes) {
    for (const auto& [key, counter] : map_) writes -= counter.value();
    require(writes == 0, "a write is lost: two writers were in at once");
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::uint32_t, twin_counter> map_;
};

class after {
 public:
  after() {
    for (std::uint32_t key = 0; key < keys; ++key) map_.insert_or_assign(key, twin_counter{});
  }

  void read(xorshift& random) {
    const bool found =
        map_.visit(any_of(keys, random), [](const twin_counter& counter) { counter.value(); });
    require(found, "a reader did not find a key that is in the map");
  }

  void write(xorshift& random) {
    map_.update(any_of(keys, random), [](twin_counter& copy) { copy.increment(); });
  }

  void check(std::uint64_t, std::uint64_t writes) {
    map_.for_each([&](const auto& each) { writes -= each.second.value(); });
    require(writes == 0, "a write is lost: two writers were in at once");
  }

 private:
  readmost::rcu_hash_map<std::uint32_t, twin_counter> map_;
};

}  // namespace examples::map
