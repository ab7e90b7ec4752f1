// How long a write lock takes to get: while another thread reads without a rest; among threads that
// have read once; and, from the moment the last of them leaves, after readers that slept inside.
// Counters: median, 99th percentile and maximum in ns, one clock call included (what `empty`
// shows); for our class also the rounds of consensus during the run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <chrono>
#include <string>
#include <type_traits>
#include <vector>

#include "background_readers.hpp"
#include "measured_locks.hpp"
#include "run_benchmarks.hpp"
#include "statistics/statistics.hpp"

namespace {

using bench::clock;

// Measures a write lock after each prepare(), from when it is asked for or from start(), whichever
// is later.
template <class Lock, class Prepare, class Start>
void measure_writes(benchmark::State& state, Lock& lock, Prepare prepare, Start start) {
  bench::holder<Lock> mine(lock);
  std::vector<double> waits;
  const readmost::detail::statistics before = readmost::detail::collect_statistics();
  for (auto _ : state) {
    prepare(mine);
    const auto asked = clock::now();
    mine.lock();
    const auto entered = clock::now();
    const std::chrono::duration<double> wait = entered - std::max(asked, start());
    mine.unlock();
    state.SetIterationTime(wait.count());
    waits.push_back(wait.count() * 1e9);
  }
  const readmost::detail::statistics after = readmost::detail::collect_statistics();
  std::sort(waits.begin(), waits.end());
  state.counters["median_ns"] = boost::math::statistics::median(waits);
  state.counters["p99_ns"] = waits[(waits.size() - 1) * 99 / 100];
  state.counters["max_ns"] = waits.back();
  if constexpr (std::is_same_v<Lock, readmost::shared_mutex>) {
    const auto per_thousand_writes = [&](std::uint64_t from, std::uint64_t to) {
      return 1000 * static_cast<double>(to - from) / static_cast<double>(waits.size());
    };
    state.counters["rounds_by_reports"] =
        per_thousand_writes(before.rounds_by_reports, after.rounds_by_reports);
    state.counters["rounds_by_membarrier"] =
        per_thousand_writes(before.rounds_by_membarrier, after.rounds_by_membarrier);
  }
}

const auto when_asked = [] { return clock::time_point::min(); };

template <class Lock>
void against_hot_reader(benchmark::State& state) {
  const auto gap = std::chrono::microseconds(state.range(0));
  bench::alone_on_its_line<Lock> shared;
  bench::hot_reader<Lock> reader(shared.lock);
  // The gap lets the readers' fast path come back.
  const auto pause = [gap, &reader](auto&) {
    reader.wait_for_reads(1);
    const auto over = clock::now() + gap;
    while (clock::now() < over) {
    }
  };
  measure_writes(state, shared.lock, pause, when_asked);
}

template <class Lock>
void among_idle_threads(benchmark::State& state) {
  bench::alone_on_its_line<Lock> shared;
  bench::idle_readers<Lock> readers(shared.lock, static_cast<int>(state.range(0)));
  // Reads between the writes, so that the readers' fast path comes back here too.
  measure_writes(state, shared.lock, [](auto& mine) { bench::read(mine, 1000); }, when_asked);
}

template <class Lock>
void after_sleeping_readers(benchmark::State& state) {
  bench::alone_on_its_line<Lock> shared;
  bench::sleeping_readers<Lock> readers(shared.lock, static_cast<int>(state.range(0)));
  measure_writes(
      state, shared.lock, [&readers](auto&) { readers.fall_asleep(); },
      [&readers] { return readers.last_left(); });
}

struct register_latency {
  template <class Lock>
  void operator()(const std::string& name) const {
    // Fixed numbers of writes: how many fit into a time would depend on the latency itself.
    benchmark::RegisterBenchmark(("hot_reader/" + name).c_str(), against_hot_reader<Lock>)
        ->ArgName("gap_us")
        ->Arg(10)
        ->Arg(200)
        ->Iterations(1000)
        ->UseManualTime();
    benchmark::RegisterBenchmark(("idle_threads/" + name).c_str(), among_idle_threads<Lock>)
        ->ArgName("threads")
        ->Arg(64)
        ->Iterations(1000)
        ->UseManualTime();
    benchmark::RegisterBenchmark(("sleeping_readers/" + name).c_str(), after_sleeping_readers<Lock>)
        ->ArgName("threads")
        ->Arg(4)
        ->Iterations(300)
        ->UseManualTime();
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::for_each_lock(register_latency{});
  return bench::run_benchmarks(argc, argv);
}
