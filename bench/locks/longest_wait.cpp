// SPDX-License-Identifier: Apache-2.0
// How long a thread that comes now and then waits for a lock that another one holds nearly always.
#include <fmt/core.h>

#include <stdexcept>
#include <thread>

#include "contenders/locks/contenders.hpp"
#include "harness/batches.hpp"
#include "harness/random_numbers.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "The waits of a thread that asks for the lock now and then, in microseconds, while another one "
    "holds it again and again without a pause: a writer's while a reader holds it for 50 us and "
    "for 1 ms, a reader's while a writer holds it for 1 ms. The holder spins inside; the visitor "
    "sleeps for --between microseconds before it asks, half of that more or less. A visitor that "
    "starves has one wait, for as long as the point lasts.";

struct options {
  unsigned between = 1000;

  void add_to(CLI::App& app) {
    bench::add_option(app, "--between", between, "Microseconds between two visits",
                      bench::limits{1U, 1'000'000U});
  }
};

class measurement {
 public:
  measurement(const bench::contender& lock, const options& chosen, std::chrono::nanoseconds time)
      : lock_(lock), between_(chosen.between), time_(time) {}

  bench::percentiles writers_waits(std::chrono::microseconds hold) const {
    return waits(
        [hold](bench::guarded_counter& counter, const std::atomic<bool>& stopped) {
          return counter.read_and_call([] {}, [hold] { bench::spin_for(hold); }, stopped);
        },
        &bench::guarded_counter::write_timed, 1);
  }

  bench::percentiles readers_waits(std::chrono::microseconds hold) const {
    return waits(
        [hold](bench::guarded_counter& counter, const std::atomic<bool>& stopped) {
          return counter.write_and_call([] {}, [hold] { bench::spin_for(hold); }, stopped);
        },
        &bench::guarded_counter::read_timed, 0);
  }

 private:
  using visit = std::uint64_t (bench::guarded_counter::*)(const bench::guarded_counter::action&,
                                                          const bench::guarded_counter::observer&,
                                                          const std::atomic<bool>&);

  // The holder is thread 0, the visitor thread 1.
  template <class Hold>
  bench::percentiles waits(Hold hold, visit visits, std::size_t writer) const {
    bench::percentiles found;
    // On a busy machine a visitor may not have been there in the whole time.
    while (found.count() == 0) {
      const auto counter = lock_.make_counter();
      // Not in step with the holder.
      bench::random_numbers random(1);
      const auto pause = [&] {
        const auto half = between_ / 2;
        std::this_thread::sleep_for(half + random() % 1024 * between_ / 1024);
      };
      const bench::timed_outcome outcome = bench::run_together(
          {[&](const std::atomic<bool>& stopped) { return hold(*counter, stopped); },
           [&](const std::atomic<bool>& stopped) {
             return ((*counter).*visits)(
                 pause, [&](auto asked, auto acquired) { found.add(acquired - asked); }, stopped);
           }},
          time_);
      bench::require_no_write_lost(*counter, outcome.counts[writer]);
    }
    return found;
  }

  const bench::contender& lock_;
  std::chrono::microseconds between_;
  std::chrono::nanoseconds time_;
};

void measure(const bench::contender& lock, const options& chosen, bench::effort effort,
             bench::figures& found) {
  const measurement of(lock, chosen, effort.point(400ms));
  const auto add = [&found](std::string_view who, std::string_view what, double ns) {
    found.less_is_better("Longest waits", fmt::format("{}: {}", who, what), "us", ns / 1000);
  };
  const auto among_short_reads = "a writer, reads of 50 us";
  bench::percentiles waits = of.writers_waits(50us);
  add(among_short_reads, "median", waits.median());
  add(among_short_reads, "p90", waits.at(0.9));
  add(among_short_reads, "p99", waits.p99());
  add(among_short_reads, "longest", waits.highest());
  add("a writer, reads of 1 ms", "longest", of.writers_waits(1ms).highest());
  add("a reader, writes of 1 ms", "longest", of.readers_waits(1ms).highest());
}

const bench::registration here("longest_wait", [] {
  return bench::benchmark_of<options>(description, bench::all_with_preferences(), measure);
});

}  // namespace
