// A hash map under a std::shared_mutex: the cache, routing table or settings that every server has.
// Each operation looks one key up; with --writes-per N one in N changes an entry instead.

#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "timed_threads.hpp"
#include "twin_counter.hpp"

int main(int argc, char** argv) try {
  examples::settings chosen;
  std::uint32_t writes_per = 0;
  std::uint32_t entries = 64;
  CLI::App app{"Threads look keys up in a hash map under one std::shared_mutex."};
  chosen.add_options(app);
  app.add_option("--writes-per", writes_per, "One operation in N is a write; 0 for none")
      ->check(CLI::Range(0u, 1'000'000'000u))
      ->capture_default_str();
  app.add_option("--entries", entries, "Entries in the map")
      ->check(CLI::Range(1u, 1u << 20))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::shared_mutex mutex;
  std::unordered_map<std::uint32_t, examples::twin_counter> map;
  for (std::uint32_t key = 0; key < entries; ++key) map[key];
  std::vector<examples::own_lines<std::uint64_t>> writes(chosen.threads);

  const examples::outcome result = examples::run(chosen, [&](unsigned thread) {
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
  examples::print_throughput("shared_map", result);
} catch (const std::exception& error) {
  return examples::failed("shared_map", error);
}
