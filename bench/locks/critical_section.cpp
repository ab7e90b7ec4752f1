// What a lock costs beside the work that it protects (FCP Table 3, RCU Fig. 1).
#include <fmt/core.h>

#include <algorithm>
#include <readmost/detail/platform/platform.hpp>

#include "locks/compare_locks.hpp"
#include "locks/timed_run.hpp"
#include "locks/work.hpp"
#include "rcu/ticks.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "What a pair of lock and unlock takes, reading and writing: alone, and while one thread for "
    "each further CPU (at least one) reads without a rest (FCP Table 3). In nanoseconds and in "
    "cycles of the time stamp counter; the section is empty but for the counter that it keeps.  "
    "And the efficiency of sections (RCU Fig. 1): the time that their "
    "instructions take without the lock, as a share of what they take with it, by the number of "
    "instructions, each of which waits for the one before.";

struct options {
  bench::seconds_option seconds;
  std::vector<unsigned> instructions{10, 30, 100, 300, 1000, 3000, 10'000};

  void add_to(CLI::App& app) {
    seconds.add_to(app);
    bench::add_option(app, "--instructions", instructions,
                      "Lengths of sections, for the efficiency", bench::limits{10U, 100'000'000U});
  }
};

// How often batch(times) is to do it, so that the clock costs next to nothing.
template <class Batch>
std::uint64_t times_in(Batch batch, std::chrono::nanoseconds time) {
  using clock = std::chrono::steady_clock;
  for (std::uint64_t times = 1;; times *= 2) {
    const auto begin = clock::now();
    batch(times);
    if (clock::now() - begin >= time) return times;
  }
}

// In nanoseconds.
template <class Batch>
double cost_of_one(Batch batch, std::uint64_t times) {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  batch(times);
  const std::chrono::duration<double, std::nano> passed = clock::now() - begin;
  return passed.count() / static_cast<double>(times);
}

// The median of the means of batches, over about that time.
template <class Batch>
double usual_cost(Batch batch, std::chrono::nanoseconds time) {
  using clock = std::chrono::steady_clock;
  const std::uint64_t times = times_in(batch, time / 30);
  bench::percentiles costs;
  const auto begin = clock::now();
  do {
    costs.add_ns(cost_of_one(batch, times));
  } while (clock::now() - begin < time);
  return costs.median();
}

class measurement {
 public:
  measurement(const bench::contender& lock, const options& chosen, bench::effort effort,
              bench::figures& found)
      : lock_(lock), chosen_(chosen), effort_(effort), found_(found) {}

  void pairs_alone() {
    const auto counter = lock_.make_counter();
    const auto time = chosen_.seconds.point(effort_, 100ms);
    add("reading, alone", usual_cost([&](auto times) { counter->read_times(times, 0); }, time));
    add("writing, alone", usual_cost([&](auto times) { counter->write_times(times, 0); }, time));
  }

  void pairs_beside_readers() {
    const auto time = chosen_.seconds.point(effort_, 100ms);
    {
      const auto counter = lock_.make_counter();
      bench::working_threads readers(readers_of(*counter));
      add("reading, beside readers",
          usual_cost([&](auto times) { counter->read_times(times, 0); }, time));
      readers.stop();
    }
    // A writer may wait for long, now and then, and no number of writes is sure to be done in time:
    // the mean of those that are.
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
    const auto bare = bench::make_counter_without_lock();
    const auto time = chosen_.seconds.point(effort_, 50ms);
    for (const unsigned instructions : chosen_.instructions) {
      const unsigned tens = instructions / bench::chain::steps_at_once;
      const auto bare_reading = [&](std::uint64_t times) { bare->read_times(times, tens); };
      const auto bare_writing = [&](std::uint64_t times) { bare->write_times(times, tens); };
      const auto reading = [&](std::uint64_t times) { counter->read_times(times, tens); };
      const auto writing = [&](std::uint64_t times) { counter->write_times(times, tens); };
      // In turns, so that what the machine does meanwhile falls on all of them.
      constexpr int rounds = 10;
      const std::uint64_t times = times_in(writing, time / (3 * rounds));
      bench::percentiles of_reading;
      bench::percentiles of_writing;
      for (int i = 0; i < rounds; ++i) {
        of_reading.add_ns(cost_of_one(bare_reading, times) / cost_of_one(reading, times));
        of_writing.add_ns(cost_of_one(bare_writing, times) / cost_of_one(writing, times));
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
  of.pairs_beside_readers();
  of.efficiency();
}

}  // namespace

int main(int argc, char** argv) {
  return bench::compare_locks(argc, argv, "critical_section", description, options{}, measure);
}
