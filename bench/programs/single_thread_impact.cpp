// SPDX-License-Identifier: Apache-2.0
// Programs of one thread, which gain nothing from a scalable lock, over each lock (FCP 8.4): do
// they become slower? The paper builds Linux; here a compiler builds a part of GoogleTest and takes
// no rwlock, so that only the start with another lock could cost time. The others take rwlocks:
// Kyoto Cabinet one for each operation, Python one for each digest that it gets from OpenSSL.
#include <fmt/format.h>

#include "programs/launcher.hpp"

namespace {

using words = std::vector<std::string>;

struct work {
  std::string name;
  std::vector<words> commands;
};

std::vector<words> compilations(bool quick) {
  const std::string googletest = BENCH_GOOGLETEST;
  std::vector<words> each;
  for (const char* file : {"filepath", "matchers", "port", "printers", "test-part", "typed-test"}) {
    each.push_back({BENCH_COMPILER, "-std=c++17", "-c", "-I", googletest, "-I",
                    googletest + "/include", fmt::format("{}/src/gtest-{}.cc", googletest, file),
                    "-o", "/dev/null"});
    if (quick) break;
  }
  return each;
}

std::vector<work> all_work(bool quick) {
  const unsigned operations = quick ? 50'000 : 4'000'000;
  const unsigned digests = quick ? 10'000 : 2'000'000;
  return {
      {"compile GoogleTest", compilations(quick)},
      {"Kyoto Cabinet, wicked",
       {{BENCH_KCCACHETEST, "wicked", "-th", "1", "-it", "1", fmt::to_string(operations)}}},
      {"Python, OpenSSL digests",
       {{BENCH_PYTHON, "-c",
         fmt::format("import hashlib\n"
                     "for i in range({}):\n"
                     "    digest = hashlib.new('sha256', b'abc').hexdigest()\n"
                     "assert digest.startswith('ba7816bf8f01cfea')",
                     digests)}}},
  };
}

void measure(const bench::run_function& run, bench::effort chosen, bench::figures& found) {
  for (const work& one : all_work(chosen.quick)) {
    double seconds = 0;
    double cpu_seconds = 0;
    for (const words& command : one.commands) {
      const bench::finished_program done = run(command, {{"KCRNDSEED", "1"}}, {});
      seconds += done.seconds;
      cpu_seconds += done.cpu_seconds;
    }
    found.less_is_better("Programs of one thread", one.name, "s", seconds);
    found.less_is_better("Programs of one thread, CPU time", one.name, "s", cpu_seconds);
  }
}

const bench::registration here("single_thread_impact", [] {
  return bench::benchmark_of_preloaded_locks(
      "How long programs of one thread take over each lock (FCP 8.4).", measure);
});

}  // namespace
