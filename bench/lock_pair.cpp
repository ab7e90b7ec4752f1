// What a pair of lock and unlock costs, for reading by one and by two threads and for writing.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "measured_locks.hpp"
#include "run_benchmarks.hpp"

namespace {

template <class Lock>
void read_pair(benchmark::State& state, Lock& lock) {
  bench::holder<Lock> mine(lock);
  for (auto _ : state) {
    mine.lock_shared();
    mine.unlock_shared();
  }
  state.SetItemsProcessed(state.iterations());
}

template <class Lock>
void write_pair(benchmark::State& state, Lock& lock) {
  bench::holder<Lock> mine(lock);
  for (auto _ : state) {
    mine.lock();
    mine.unlock();
  }
  state.SetItemsProcessed(state.iterations());
}

struct register_pairs {
  template <class Lock>
  void operator()(const std::string& name) const {
    using shared_lock = bench::alone_on_its_line<Lock>;
    const auto reads = std::make_shared<shared_lock>();
    const auto writes = std::make_shared<shared_lock>();
    benchmark::RegisterBenchmark(
        ("read/" + name).c_str(),
        [reads](benchmark::State& state) { read_pair(state, reads->lock); })
        ->Threads(1)
        ->Threads(2)
        ->UseRealTime();
    benchmark::RegisterBenchmark(
        ("write/" + name).c_str(),
        [writes](benchmark::State& state) { write_pair(state, writes->lock); })
        ->Threads(1)
        ->UseRealTime();
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::for_each_lock(register_pairs{});
  return bench::run_benchmarks(argc, argv);
}
