// The main function of every benchmark here.
#pragma once

#include <benchmark/benchmark.h>

#include "second_thread.hpp"

namespace bench {

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
