// What a read section costs with the same work in it, for RCU, hazard pointers and reader-writer
// locks: loads a pointer and reads what it points to. By one and by two threads.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "rcu/background.hpp"
#include "rcu/sides.hpp"
#include "run_benchmarks.hpp"

namespace {

constexpr const char* description =
    "Time of a read section in which a pointer is loaded and what it points to is read, by one "
    "and\n"
    "by two threads: items_per_second is sections per second in all threads. `empty`: without a\n"
    "section. --quick: a short turn. QSBR announces a quiescent state every 1024 sections.\n\n"
    "What else can be given:\n";

constexpr unsigned at_once = 1024;

void read_sections(benchmark::State& state, bench::read_side& side,
                   const bench::shared_cell& cell) {
  const bench::user_of member(side);
  while (state.KeepRunningBatch(at_once)) benchmark::DoNotOptimize(side.read(cell, at_once));
  state.SetItemsProcessed(state.iterations());
}

void read_without(benchmark::State& state, const bench::shared_cell& cell) {
  while (state.KeepRunningBatch(at_once)) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < at_once; ++i) {
      sum += cell.current.load(std::memory_order_acquire)->value;
    }
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations());
}

}  // namespace

int main(int argc, char** argv) {
  std::string quick = "--benchmark_min_time=0.01";
  std::vector<char*> arguments(argv, argv + argc);
  for (char*& one : arguments) {
    if (std::strcmp(one, "--quick") == 0) one = quick.data();
    if (std::strcmp(one, "--help") == 0) std::fputs(description, stdout);
  }
  arguments.push_back(nullptr);

  bench::filled_cell cell;
  const auto sides = bench::all_read_sides();
  const auto add = [](const std::string& name, auto measure) {
    benchmark::RegisterBenchmark(("read/" + name).c_str(), measure)
        ->Threads(1)
        ->Threads(2)
        ->UseRealTime();
  };
  add("empty", [&](benchmark::State& state) { read_without(state, *cell); });
  for (const auto& side : sides) {
    add(side->name(), [&](benchmark::State& state) { read_sections(state, *side, *cell); });
  }
  return bench::run_benchmarks(argc, arguments.data());
}
