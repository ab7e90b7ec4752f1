// How long a write lock takes to get while another thread reads without a rest. Counters: median,
// 99th percentile and maximum in ns, one clock call included (what `empty` shows).
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "measured_locks.hpp"

namespace {

using clock = std::chrono::steady_clock;

// Reads in a thread of its own from construction to destruction.
template <class Lock>
class hot_reader {
 public:
  explicit hot_reader(Lock& lock)
      : thread_([this, &lock] {
          while (!stopped_.load(std::memory_order_relaxed)) {
            lock.lock_shared();
            lock.unlock_shared();
            reads_.store(reads_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
          }
        }) {
    while (reads_.load(std::memory_order_relaxed) < 10000) std::this_thread::yield();
  }
  ~hot_reader() {
    stopped_.store(true);
    thread_.join();
  }

 private:
  std::atomic<bool> stopped_{false};
  std::atomic<unsigned long> reads_{0};
  std::thread thread_;
};

template <class Lock>
void write_latency(benchmark::State& state) {
  const auto gap = std::chrono::microseconds(state.range(0));
  alignas(64) Lock lock;
  hot_reader<Lock> reader(lock);
  std::vector<double> waits;
  auto ready = clock::now();
  for (auto _ : state) {
    // The gap lies outside the measured time; it lets the readers' fast path come back.
    ready += gap;
    while (clock::now() < ready) {
    }
    const auto begin = clock::now();
    lock.lock();
    const std::chrono::duration<double> wait = clock::now() - begin;
    lock.unlock();
    ready = clock::now();
    state.SetIterationTime(wait.count());
    waits.push_back(wait.count() * 1e9);
  }
  std::sort(waits.begin(), waits.end());
  state.counters["median_ns"] = boost::math::statistics::median(waits);
  state.counters["p99_ns"] = waits[(waits.size() - 1) * 99 / 100];
  state.counters["max_ns"] = waits.back();
}

struct register_latency {
  template <class Lock>
  void operator()(const std::string& name) const {
    // A fixed number of writes: how many fit into a time would depend on the latency itself.
    benchmark::RegisterBenchmark(("write_latency/" + name).c_str(), write_latency<Lock>)
        ->ArgName("gap_us")
        ->Arg(10)
        ->Arg(200)
        ->Iterations(2000)
        ->UseManualTime();
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::for_each_lock(register_latency{});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
