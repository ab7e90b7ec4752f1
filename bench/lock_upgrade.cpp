// What it costs to lock for reading, upgrade and unlock, and to lock for writing, downgrade and
// unlock, with nobody else there; beside it the same lock's pair of write lock and unlock.
#include <benchmark/benchmark.h>

#include <string>

#include "measured_locks.hpp"
#include "run_benchmarks.hpp"
#include "upgrades.hpp"

namespace {

constexpr auto nothing = [] { benchmark::ClobberMemory(); };

template <class Lock>
void write_alone(benchmark::State& state) {
  bench::alone_on_its_line<Lock> shared;
  bench::holder<Lock> mine(shared.lock);
  for (auto _ : state) {
    mine.lock();
    nothing();
    mine.unlock();
  }
}

template <class Lock>
void upgrade(benchmark::State& state) {
  bench::alone_on_its_line<Lock> shared;
  for (auto _ : state) bench::read_then_write(shared.lock, nothing);
}

template <class Lock>
void downgrade(benchmark::State& state) {
  bench::alone_on_its_line<Lock> shared;
  for (auto _ : state) bench::write_then_read(shared.lock, nothing);
}

struct register_upgrades {
  template <class Lock>
  void operator()(const std::string& name) const {
    if constexpr (bench::upgradable<Lock>) {
      benchmark::RegisterBenchmark(("write_alone/" + name).c_str(), write_alone<Lock>);
      benchmark::RegisterBenchmark(("upgrade/" + name).c_str(), upgrade<Lock>);
      benchmark::RegisterBenchmark(("downgrade/" + name).c_str(), downgrade<Lock>);
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::for_each_real_lock(register_upgrades{});
  return bench::run_benchmarks(argc, argv);
}
