// SPDX-License-Identifier: Apache-2.0
// The cost of a lock beside the work that it protects (FCP Table 3, RCU Fig. 1).
#include <fmt/core.h>

#include <algorithm>
#include <readmost/detail/platform/platform.hpp>

#include "contenders/locks/contenders.hpp"
#include "contenders/locks/work.hpp"
#include "harness/batches.hpp"
#include "harness/timed_run.hpp"
#include "machine/ticks.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "The time of a pair of lock and unlock, for reading and writing: alone, and while one thread "
    "for each further CPU (at least one) reads without a pause (FCP Table 3); of reads by each of "
    "two threads; and, where the lock has them, of an upgrade and a downgrade with their locks and "
    "unlocks. In nanoseconds and in cycles of the time stamp counter; the section only updates or "
    "checks a counter. And the efficiency of sections (RCU Fig. 1): the time that their "
    "instructions "
    "take without the lock, as a share of the time with it, by the number of instructions, each of "
    "which waits for the one before.";

struct options {
  std::vector<unsigned> instructions{10, 30, 100, 300, 1000, 3000, 10'000};

  void add_to(CLI::App& app) {
    bench::add_option(app, "--instructions", instructions,
                      "Lengths of sections, for the efficiency", bench::limits{10U, 100'000'000U});
  }
};

class measurement {
 public:
  measurement(const bench::contender& lock, const options& chosen, bench::effort effort,
              bench::figures& found)
      : lock_(lock), chosen_(chosen), effort_(effort), found_(found) {}

  void pairs_alone() {
    const auto counter = lock_.make_counter();
    const auto time = effort_.point(100ms);
    const auto cost = [&](auto section) {
      return bench::usual_cost([&](auto times) { (*counter.*section)(times, 0); }, time);
    };
    add("reading, alone", cost(&bench::guarded_counter::read_times));
    add("writing, alone", cost(&bench::guarded_counter::write_times));
    if (!counter->upgrade_times(1)) return;
    add("upgrading, alone",
        bench::usual_cost([&](auto times) { counter->upgrade_times(times); }, time));
    add("downgrading, alone",
        bench::usual_cost([&](auto times) { counter->downgrade_times(times); }, time));
  }

  void reads_by_two_threads() {
    constexpr std::uint64_t at_once = 1000;
    const auto counter = lock_.make_counter();
    const std::vector<bench::timed_body> bodies(2, [&](const std::atomic<bool>& stopped) {
      std::uint64_t times = 0;
      do {  // at least once: a thread may be stopped before it first runs
        counter->read_times(at_once, 0);
        times += at_once;
      } while (!stopped.load(std::memory_order_relaxed));
      return times;
    });
    const bench::timed_outcome outcome = bench::run_together(bodies, effort_.point(100ms));
    add("reading, each of two threads", 2e9 / outcome.per_second(outcome.total()));
  }

  void pairs_beside_readers() {
    const auto time = effort_.point(100ms);
    {
      const auto counter = lock_.make_counter();
      bench::working_threads readers(readers_of(*counter));
      add("reading, beside readers",
          bench::usual_cost([&](auto times) { counter->read_times(times, 0); }, time));
      readers.stop();
    }
    // A write may wait for long now and then, so that no number of writes is sure to end in time:
    // the mean over those that do.
    const auto counter = lock_.make_counter();
    std::vector<bench::timed_body> bodies = readers_of(*counter);
    bodies.push_back(
        [&](const std::atomic<bool>& stopped) { return counter->write(0, 0, stopped); });
    const bench::timed_outcome outcome = bench::run_together(std::move(bodies), time);
    const std::uint64_t writes = outcome.counts.back();
    bench::require_no_write_lost(*counter, writes);
    add("writing, beside readers",
        outcome.seconds * 1e9 / static_cast<double>(std::max<std::uint64_t>(writes, 1)));
  }

  void efficiency() {
    const auto counter = lock_.make_counter();
    const auto bare = bench::make_no_lock()->make_counter();
    const auto time = effort_.point(50ms);
    for (const unsigned instructions : chosen_.instructions) {
      const unsigned tens = instructions / bench::chain::steps_at_once;
      const auto bare_reading = [&](std::uint64_t times) { bare->read_times(times, tens); };
      const auto bare_writing = [&](std::uint64_t times) { bare->write_times(times, tens); };
      const auto reading = [&](std::uint64_t times) { counter->read_times(times, tens); };
      const auto writing = [&](std::uint64_t times) { counter->write_times(times, tens); };
      // With and without the lock by turns, so that a disturbance falls on both.
      constexpr int rounds = 10;
      const std::uint64_t times = bench::times_in(writing, time / (3 * rounds));
      bench::percentiles of_reading;
      bench::percentiles of_writing;
      for (int i = 0; i < rounds; ++i) {
        of_reading.add_ns(bench::cost_of_one(bare_reading, times) /
                          bench::cost_of_one(reading, times));
        of_writing.add_ns(bench::cost_of_one(bare_writing, times) /
                          bench::cost_of_one(writing, times));
      }
      const auto share = [&](const char* what, double of) {
        found_.point(fmt::format("Efficiency of a section, {}", what), instructions, "more",
                     "share of time", of);
      };
      share("reading", of_reading.median());
      share("writing", of_writing.median());
    }
  }

 private:
  static std::vector<bench::timed_body> readers_of(bench::guarded_counter& counter) {
    const unsigned cpus = readmost::detail::platform::usable_cpus();
    return std::vector<bench::timed_body>(
        std::max(cpus, 2U) - 1,
        [&counter](const std::atomic<bool>& stopped) { return counter.read(0, 0, stopped); });
  }

  void add(const char* what, double ns) {
    found_.less_is_better("Lock and unlock", what, "ns", ns);
    found_.less_is_better("Lock and unlock, cycles", what, "cycles", ns / bench::ns_per_tick());
  }

  const bench::contender& lock_;
  const options& chosen_;
  bench::effort effort_;
  bench::figures& found_;
};

void measure(const bench::contender& lock, const options& chosen, bench::effort effort,
             bench::figures& found) {
  measurement of(lock, chosen, effort, found);
  of.pairs_alone();
  of.reads_by_two_threads();
  if (lock.name() == "empty") return;
  of.pairs_beside_readers();
  of.efficiency();
}

const bench::registration here("critical_section", [] {
  bench::contender_list all = bench::all_contenders();
  all.push_back(bench::make_no_lock());
  return bench::benchmark_of<options>(description, std::move(all), measure);
});

}  // namespace
