// SPDX-License-Identifier: Apache-2.0
// Kyoto Cabinet's databases in memory over each lock (FCP 8.3, Fig. 23), by the test programs of
// the distribution. "wicked" does random operations; one in five of its locks is for writing in
// CacheDB, whose records have mutexes besides, and six in seven in ProtoHashDB. Of "order" only the
// second part counts, in which every thread looks records up and compares them with the stored
// values. The paper does not say which database and test it ran; these guard all their tables with
// one rwlock, and lookups are nearest to its "hundreds of millions read accesses".
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "programs/launcher.hpp"

namespace {

struct database {
  const char* program;
  const char* name;
};
constexpr std::array<database, 2> databases{
    {{BENCH_KCCACHETEST, "CacheDB"}, {BENCH_KCPROTOTEST, "ProtoHashDB"}}};

// A fixed seed gives every run the same work.
const bench::variables same_work{{"KCRNDSEED", "1"}};

void measure_wicked(const bench::run_function& run, const database& what, unsigned threads,
                    unsigned operations, bench::figures& found) {
  const unsigned each = std::max(operations / threads, 1000U);
  const bench::finished_program done = run(
      {what.program, "wicked", "-th", fmt::to_string(threads), "-it", "1", fmt::to_string(each)},
      same_work, {});
  found.point(fmt::format("Kyoto Cabinet {}, wicked", what.name), threads, "more",
              "operations per second", each * threads / done.number_above_0("^time: ([0-9.]+)$"));
}

void measure_lookups(const bench::run_function& run, unsigned threads, unsigned operations,
                     bench::figures& found) {
  const unsigned each = std::max(operations / threads, 1000U);
  const bench::finished_program done = run(
      {BENCH_KCCACHETEST, "order", "-th", fmt::to_string(threads), "-rnd", fmt::to_string(each)},
      same_work, {});
  found.point("Kyoto Cabinet CacheDB, lookups", threads, "more", "lookups per second",
              each * threads / done.number_above_0("(?s)^getting records:.*?^time: ([0-9.]+)$"));
}

struct options {
  unsigned operations = 800'000;

  void add_to(CLI::App& app) {
    bench::add_option(app, "--operations", operations, "Of all threads together, for each point",
                      bench::limits{10'000U, 1'000'000'000U});
  }
};

void measure(const bench::run_function& run, const options& chosen, bench::effort much,
             bench::figures& found) {
  // Kyoto Cabinet prints milliseconds, too coarse for fewer operations.
  const unsigned number = much.quick ? std::min(chosen.operations, 40'000U) : chosen.operations;
  for (const unsigned count : much.counts()) {
    for (const database& one : databases) measure_wicked(run, one, count, number, found);
    measure_lookups(run, count, number, found);
  }
}

const bench::registration here("kyoto_cabinet", [] {
  return bench::benchmark_of_preloaded_locks<options>(
      "Kyoto Cabinet over each lock (FCP 8.3, Fig. 23): operations per second by the number of "
      "threads.",
      measure);
});

}  // namespace
