// SPDX-License-Identifier: Apache-2.0
// A hash map under a std::shared_mutex: the cache, routing table or settings that every server has.
// Each operation looks one key up; with --writes-per N one in N changes an entry instead.

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "timed_threads.hpp"
#include "twin_counter.hpp"

int main(int argc, char** argv) {
  unsigned writes_per = 0;
  unsigned entries = 64;
  const examples::program program{
      "shared_map",
      "Threads look keys up in a hash map under one std::shared_mutex.",
      {{"--writes-per", &writes_per, "One operation in N is a write; 0 for none", 0, 1e9},
       {"--entries", &entries, "Entries in the map", 1, 1u << 20}}};
  return program.main(argc, argv, [&](const examples::settings& chosen) {
    std::shared_mutex mutex;
    std::unordered_map<std::uint32_t, examples::twin_counter> map;
    for (std::uint32_t key = 0; key < entries; ++key) map[key];
    std::vector<examples::own_lines<std::uint64_t>> writes(chosen.threads);

    auto result = examples::run(chosen, [&](unsigned thread) {
      return [&, random = examples::xorshift{thread}, thread]() mutable {
        const std::uint64_t bits = random();
        const std::uint32_t key = examples::scaled(static_cast<std::uint32_t>(bits), entries);
        const auto draw = static_cast<std::uint32_t>(bits >> 32);
        if (writes_per != 0 && examples::scaled(draw, writes_per) == 0) {
          const std::unique_lock guard{mutex};
          map.find(key)->second.increment();
          ++writes[thread].value;
        } else {
          const std::shared_lock guard{mutex};
          const auto found = map.find(key);
          examples::require(found != map.end(), "a reader did not find a key that is in the map");
          found->second.value();
        }
      };
    });

    std::uint64_t missing = 0;
    for (const auto& count : writes) missing += count.value;
    for (const auto& [key, counter] : map) missing -= counter.value();
    examples::require(missing == 0, "a write is lost: two writers were in at once");
    return result;
  });
}
