// The main function of every benchmark here.
#pragma once

#include <benchmark/benchmark.h>

#include <latch>
#include <thread>

namespace bench {

// While a process has one thread only, glibc leaves the atomics out of its mutexes, which nobody
// needs there: locks that are made of them would be measured without what they cost.
class second_thread {
 public:
  ~second_thread() { over_.count_down(); }

 private:
  std::latch over_{1};
  std::jthread thread_{[this] { over_.wait(); }};
};

// Runs what has been registered, as the command line asks; returns the exit status.
inline int run_benchmarks(int argc, char** argv) {
  const second_thread sleeper;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace bench
