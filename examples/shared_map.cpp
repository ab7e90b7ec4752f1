// SPDX-License-Identifier: Apache-2.0
// A hash map under a std::shared_mutex: the cache, routing table or settings that every server has.
// Each operation looks one key up; with --writes-per N one in N changes an entry instead. With
// --maps N the map is divided into N, and thread i uses number i modulo N.

#include <chrono>
#include <cstdint>
#include <latch>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "timed_threads.hpp"
#include "twin_counter.hpp"

namespace {

struct guarded_map {
  std::shared_mutex mutex;
  std::unordered_map<std::uint32_t, examples::twin_counter> map;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned writes_per = 0;
  unsigned entries = 64;
  unsigned pause = 0;
  unsigned idle = 0;
  unsigned maps = 1;
  const examples::program program{
      "shared_map",
      "Threads look keys up in a hash map under a std::shared_mutex.",
      {{"--writes-per", &writes_per, "One operation in N is a write; 0 for none", 0, 1e9},
       {"--entries", &entries, "Entries in the map", 1, 1u << 20},
       {"--pause", &pause, "Mean nanoseconds that a thread spends elsewhere after each operation",
        0, 1e6},
       {"--idle", &idle, "Threads besides, which look one key up at first and then only wait", 0,
        10'000},
       {"--maps", &maps, "Maps, each under a mutex of its own, which threads use in turn", 1,
        10'000}}};
  return program.main(argc, argv, [&](const examples::settings& chosen) {
    std::vector<examples::own_lines<guarded_map>> all(maps);
    for (auto& each : all) {
      for (std::uint32_t key = 0; key < entries; ++key) each.value.map[key];
    }
    std::vector<examples::own_lines<std::uint64_t>> writes(chosen.threads);

    std::latch ready{idle}, over{1};
    std::vector<std::jthread> idlers;
    struct end_of_idlers {
      std::latch& over;
      ~end_of_idlers() { over.count_down(); }
    } const end{over};
    for (unsigned i = 0; i < idle; ++i) {
      idlers.emplace_back([&, i] {
        auto& [mutex, map] = all[i % maps].value;
        {
          const std::shared_lock guard{mutex};
          map.find(0)->second.value();
        }
        ready.count_down();
        over.wait();
      });
    }
    ready.wait();

    auto result = examples::run(chosen, [&](unsigned thread) {
      return [&, &mutex = all[thread % maps].value.mutex, &map = all[thread % maps].value.map,
              random = examples::xorshift{thread}, thread]() mutable {
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
        if (pause != 0) {
          using clock = std::chrono::steady_clock;
          const std::chrono::nanoseconds time{
              examples::scaled(static_cast<std::uint32_t>(random()), 2 * pause)};
          for (const auto end = clock::now() + time; clock::now() < end;) {
          }
        }
      };
    });

    std::uint64_t missing = 0;
    for (const auto& count : writes) missing += count.value;
    for (const auto& each : all) {
      for (const auto& [key, counter] : each.value.map) missing -= counter.value();
    }
    examples::require(missing == 0, "a write is lost: two writers were in at once");
    return result;
  });
}
