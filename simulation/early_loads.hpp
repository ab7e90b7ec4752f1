// SPDX-License-Identifier: Apache-2.0
// Loads that are satisfied before earlier ones, under the order of Arm: while a load waits for its
// line, later loads of lines that the CPU has go on, and keep the values that they found although
// another CPU changes them before the first load is done.
//
// The machine performs loads in the order of the program. So a later load looks back: at what its
// variable was when the earlier load began to wait.
#pragma once

#include <bitset>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <unordered_map>

#include "simulation/event_queue.hpp"

namespace readmost::simulation {

// What words of memory were before they were last changed.
class past_values {
 public:
  struct past {
    instant until;
    std::uint64_t value;
    std::bitset<most_cpus> copies;  // CPUs whose cache had the line before the change
  };

  void add(std::uintptr_t word, const past& before) {
    auto& all = words_[word];
    all.push_back(before);
    if (all.size() > remembered) all.pop_front();
  }
  // The word as the CPU had it in its cache at that time, if it has changed since.
  std::optional<std::uint64_t> at(std::uintptr_t word, unsigned cpu, instant when) const {
    const auto found = words_.find(word);
    if (found == words_.end()) return std::nullopt;
    for (const past& each : found->second) {
      if (each.until <= when) continue;
      return each.copies[cpu] ? std::optional(each.value) : std::nullopt;
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t remembered = 8;
  std::unordered_map<std::uintptr_t, std::deque<past>> words_;
};

// How far back the loads of a CPU may look.
class early_loads {
 public:
  // A load has waited from one time to the other; those within the window after it may look back.
  void note_wait(instant from, instant to, instant window) {
    if (to > until_) from_ = from;
    until_ = to + window;
  }
  // All later accesses come after this.
  void order(instant now) {
    from_ = until_ = now;
    seen_.clear();
  }
  // The CPU has seen the word as it was at this time, and must not see it as it was before.
  void note_seen(std::uintptr_t word, instant when) {
    instant& last = seen_[word];
    last = std::max(last, when);
  }
  // The time to which a load of the word may look back now, if any.
  std::optional<instant> back_to(std::uintptr_t word, instant now) const {
    if (now > until_ || from_ >= now) return std::nullopt;
    const auto found = seen_.find(word);
    const instant seen = found == seen_.end() ? 0 : found->second;
    return std::max(from_, seen);
  }

 private:
  instant from_ = 0;
  instant until_ = 0;
  std::unordered_map<std::uintptr_t, instant> seen_;
};

}  // namespace readmost::simulation
