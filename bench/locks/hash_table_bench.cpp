// SPDX-License-Identifier: Apache-2.0
// hash_table_bench of RocksDB, as the BRAVO paper runs it (5.6, Fig. 6).
#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "contenders/locks/contenders.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "hash_table_bench of RocksDB (BRAVO 5.6, Fig. 6): a std::unordered_map under the lock, from "
    "numbers to strings of 1000 bytes; T threads look up random keys and copy the values, one "
    "thread inserts new keys, one erases old ones, all without a pause. Operations per second of "
    "all threads and of each kind, by the number T of readers. The table starts with 11 times "
    "--keys elements, of which --keys are looked up (the paper: 1,048,576) and the others erased; "
    "the inserting thread waits while there are 22 times --keys elements.";

struct options {
  std::uint64_t keys = 4096;

  void add_to(CLI::App& app) {
    bench::add_option(app, "--keys", keys, "Keys that are looked up",
                      bench::limits{std::uint64_t{1}, std::uint64_t{1} << 24});
  }
};

class measurement {
 public:
  measurement(const bench::contender& lock, std::uint64_t keys)
      : keys_(keys), guarded_(lock.make_table()), erased_(keys), inserted_(keys) {
    bench::string_table& table = guarded_->table();
    for (std::uint64_t key = 0; key < keys_; ++key) {
      table.insert(key, bench::string_table::value_of(key));
    }
  }

  void point(unsigned readers, std::chrono::nanoseconds time, bench::figures& found) {
    refill();
    std::vector<bench::timed_body> bodies;
    for (unsigned i = 0; i < readers; ++i) {
      bodies.push_back([this, i](const std::atomic<bool>& stopped) {
        return guarded_->look_up(i + 1, keys_, stopped);
      });
    }
    bodies.push_back([this](const std::atomic<bool>& stopped) {
      return guarded_->insert(inserted_, 22 * keys_, stopped);
    });
    bodies.push_back(
        [this](const std::atomic<bool>& stopped) { return guarded_->erase(erased_, stopped); });
    const bench::timed_outcome outcome = bench::run_together(bodies, time);
    if (guarded_->table().size() != keys_ + inserted_ - erased_) {
      throw std::runtime_error("the table lost an element or kept an erased one");
    }
    found.point("hash_table_bench", readers, "more", "operations per second",
                outcome.per_second(outcome.total()));
    const auto kind = [&](const char* name, std::uint64_t count) {
      found.point(fmt::format("hash_table_bench, {}", name), readers, "neither", "per second",
                  outcome.per_second(count));
    };
    kind("lookups", outcome.sum(0, readers));
    kind("insertions", outcome.counts[readers]);
    kind("erasures", outcome.counts[readers + 1]);
  }

 private:
  // Restores the initial number of elements.
  void refill() {
    bench::string_table& table = guarded_->table();
    for (; inserted_ - erased_ > 10 * keys_; ++erased_) table.erase(erased_);
    for (; inserted_ - erased_ < 10 * keys_; ++inserted_) {
      table.insert(inserted_, bench::string_table::value_of(inserted_));
    }
  }

  std::uint64_t keys_;
  std::unique_ptr<bench::guarded_table> guarded_;
  // The next key to erase and the next to insert; each is accessed by one thread only.
  alignas(128) std::uint64_t erased_;
  alignas(128) std::uint64_t inserted_;
};

void measure(const bench::contender& lock, const options& chosen, bench::effort effort,
             bench::figures& found) {
  measurement of(lock, effort.quick ? std::min<std::uint64_t>(chosen.keys, 256) : chosen.keys);
  for (const unsigned readers : effort.counts()) {
    of.point(readers, effort.point(300ms), found);
  }
}

const bench::registration here("hash_table_bench", [] {
  return bench::benchmark_of<options>(description, bench::all_with_preferences(), measure);
});

}  // namespace
