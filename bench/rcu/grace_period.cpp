// SPDX-License-Identifier: Apache-2.0
// The duration of rcu_synchronize beside that of liburcu's synchronize_rcu.
#include <algorithm>
#include <readmost/rcu.hpp>

#include "harness/benchmark.hpp"
#include "rcu/background_readers.hpp"

namespace {

using bench::clock;
using namespace std::chrono_literals;

constexpr const char* description =
    "The duration of a grace period (rcu_synchronize, synchronize_rcu): nanoseconds, median, 99th "
    "percentile and maximum, one call of the clock (clock_ns) included. Against no reader; a "
    "reader without a pause; 64 threads that have read and now sleep outside; 4 readers that sleep "
    "inside for 0.1 ms after every 10,000 reads; 4 readers asleep inside, from the moment the last "
    "one begins to leave; 8 readers without a pause.";

class measurement {
 public:
  measurement(bench::rcu_flavor& rcu, bench::effort chosen, bench::figures& found)
      : rcu_(rcu), chosen_(chosen), found_(found) {}

  void no_reader() {
    measure("Grace period, no reader", 20'000, [] {}, when_asked);
  }
  void hot_reader() {
    bench::hot_readers reader(rcu_, *cell_, 1);
    // Waits until the reader has a CPU.
    const auto pause = [&] {
      reader.wait_for(16);
      bench::spin_for(10us);
    };
    measure("Grace period, a reader without a pause", 20'000, pause, when_asked);
  }
  void idle_threads() {
    bench::idle_readers readers(rcu_, *cell_, 64);
    measure("Grace period, 64 threads asleep that have read", 5'000, [] {}, when_asked);
  }
  void drowsy_readers() {
    bench::drowsy_readers readers(rcu_, *cell_, 4);
    const auto pause = [] { std::this_thread::sleep_for(50us); };
    measure("Grace period, 4 readers that sleep inside now and then", 2'000, pause, when_asked);
  }
  void sleepers() {
    bench::sleepers readers(rcu_, *cell_, 4);
    measure(
        "Grace period, 4 readers asleep inside, from the last one's leaving", 500,
        [&] { readers.fall_asleep(); }, [&] { return readers.last_left(); });
  }
  void more_readers_than_cpus() {
    bench::hot_readers readers(rcu_, *cell_, 8);
    measure("Grace period, 8 readers without a pause", 500, [] {}, when_asked);
  }

 private:
  static constexpr auto when_asked = [] { return clock::time_point::min(); };

  // A duration begins with the call or at start(), whichever is later.
  template <class Prepare, class Start>
  void measure(const char* table, unsigned times, Prepare prepare, Start start) {
    const bool ours = rcu_.name() == "readmost::rcu";
    bench::percentiles latencies;
    // The first grace periods include initialization that occurs once per process.
    for (int i = 0; i < 3; ++i) {
      prepare();
      rcu_.synchronize();
    }
    const readmost::rcu_statistics before = readmost::rcu_statistics_of();
    const auto over = clock::now() + chosen_.time(2s);
    for (unsigned i = 0; i < chosen_.times(times) && (i < 3 || clock::now() < over); ++i) {
      prepare();
      const auto asked = clock::now();
      rcu_.synchronize();
      const auto done = clock::now();
      latencies.add(done - std::max(asked, start()));
    }
    found_.latency(table, latencies);
    if (!ours) return;
    const readmost::rcu_statistics after = readmost::rcu_statistics_of();
    const auto of_a_thousand = [&](std::uint64_t from, std::uint64_t to) {
      return 1000 * static_cast<double>(to - from) /
             static_cast<double>(after.grace_periods - before.grace_periods);
    };
    found_.neutral(table, "by membarrier", "of 1000",
                   of_a_thousand(before.by_membarrier, after.by_membarrier));
    found_.neutral(table, "asleep", "of 1000", of_a_thousand(before.asleep, after.asleep));
  }

  bench::rcu_flavor& rcu_;
  bench::effort chosen_;
  bench::figures& found_;
  bench::filled_cell cell_;
};

void measure(bench::rcu_flavor& rcu, bench::effort chosen, bench::figures& found) {
  measurement of(rcu, chosen, found);
  of.no_reader();
  of.hot_reader();
  of.idle_threads();
  of.drowsy_readers();
  of.sleepers();
  of.more_readers_than_cpus();
}

const bench::registration here("grace_period", [] {
  return bench::benchmark_of(description, bench::all_rcu_flavors(), measure);
});

}  // namespace
