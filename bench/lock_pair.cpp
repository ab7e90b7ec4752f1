// What a pair of lock and unlock costs, for reading by one and by two threads and for writing.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "measured_locks.hpp"

namespace {

template <class Lock>
struct alignas(64) alone_on_its_line {
  Lock lock;
};

template <class Lock>
void read_pair(benchmark::State& state, alone_on_its_line<Lock>& shared) {
  for (auto _ : state) {
    shared.lock.lock_shared();
    shared.lock.unlock_shared();
  }
  state.SetItemsProcessed(state.iterations());
}

template <class Lock>
void write_pair(benchmark::State& state, alone_on_its_line<Lock>& shared) {
  for (auto _ : state) {
    shared.lock.lock();
    shared.lock.unlock();
  }
  state.SetItemsProcessed(state.iterations());
}

struct register_pairs {
  template <class Lock>
  void operator()(const std::string& name) const {
    const auto reads = std::make_shared<alone_on_its_line<Lock>>();
    const auto writes = std::make_shared<alone_on_its_line<Lock>>();
    benchmark::RegisterBenchmark(("read/" + name).c_str(),
                                 [reads](benchmark::State& state) { read_pair(state, *reads); })
        ->Threads(1)
        ->Threads(2)
        ->UseRealTime();
    benchmark::RegisterBenchmark(("write/" + name).c_str(),
                                 [writes](benchmark::State& state) { write_pair(state, *writes); })
        ->Threads(1)
        ->UseRealTime();
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::for_each_lock(register_pairs{});
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
