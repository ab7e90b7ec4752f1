// How much memory a lock takes, and each thread that uses it; the time is that of making a lock and
// destroying it. Counters: `lock_bytes`; `thread_bytes`, once per thread for ours, once per thread
// and lock for the others.
#include <benchmark/benchmark.h>

#include <cstddef>
#include <string>
#include <type_traits>

#include "measured_locks.hpp"
#include "run_benchmarks.hpp"

namespace {

template <class Lock>
constexpr std::size_t thread_bytes() {
  if constexpr (std::is_same_v<Lock, readmost::shared_mutex>) {
    return sizeof(readmost::detail::thread_record);
  } else if constexpr (requires { bench::holder<Lock>::thread_bytes; }) {
    return bench::holder<Lock>::thread_bytes;
  } else {
    return 0;
  }
}

template <class Lock>
void memory(benchmark::State& state) {
  for (auto _ : state) {
    Lock lock{};
    benchmark::DoNotOptimize(&lock);
  }
  state.counters["lock_bytes"] = sizeof(Lock);
  state.counters["thread_bytes"] = thread_bytes<Lock>();
}

struct register_memory {
  template <class Lock>
  void operator()(const std::string& name) const {
    benchmark::RegisterBenchmark(("memory/" + name).c_str(), memory<Lock>);
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::for_each_real_lock(register_memory{});
  return bench::run_benchmarks(argc, argv);
}
