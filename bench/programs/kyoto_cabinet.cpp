// Kyoto Cabinet's databases in memory over each lock (FCP 8.3, Fig. 23): operations per
// second by the number of threads. These are its own test programs, as the distribution ships them.
// "wicked" does at random whatever a database can; of its locks one in five is for writing in
// CacheDB, whose records have mutexes besides, and six in seven in ProtoHashDB. Of "order" only the
// second part is told, in which every thread looks records up and compares what it finds with what
// was stored. The paper does not say which database and which test it ran; those here guard all
// their tables with one rwlock, and lookups are nearest to its "hundreds of millions read
// accesses".
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "launcher.hpp"

namespace {

struct database {
  const char* program;
  const char* name;
};
constexpr std::array<database, 2> databases{
    {{BENCH_KCCACHETEST, "CacheDB"}, {BENCH_KCPROTOTEST, "ProtoHashDB"}}};

// A fixed seed gives every run the same work.
const bench::variables same_work{{"KCRNDSEED", "1"}};

void measure_wicked(const bench::program_comparison::run_function& run, const database& what,
                    unsigned threads, unsigned operations, bench::figures& found) {
  const unsigned each = std::max(operations / threads, 1000U);
  const bench::finished_program done = run(
      {what.program, "wicked", "-th", fmt::to_string(threads), "-it", "1", fmt::to_string(each)},
      same_work, {});
  found.point(fmt::format("Kyoto Cabinet {}, wicked", what.name), threads, "more",
              "operations per second", each * threads / done.number_above_0("^time: ([0-9.]+)$"));
}

void measure_lookups(const bench::program_comparison::run_function& run, unsigned threads,
                     unsigned operations, bench::figures& found) {
  const unsigned each = std::max(operations / threads, 1000U);
  const bench::finished_program done = run(
      {BENCH_KCCACHETEST, "order", "-th", fmt::to_string(threads), "-rnd", fmt::to_string(each)},
      same_work, {});
  found.point("Kyoto Cabinet CacheDB, lookups", threads, "more", "lookups per second",
              each * threads / done.number_above_0("(?s)^getting records:.*?^time: ([0-9.]+)$"));
}

}  // namespace

int main(int argc, char** argv) {
  unsigned operations = 800'000;
  bench::threads_option threads;
  const auto measure = [&](const auto& run, bench::effort chosen, bench::figures& found) {
    // Kyoto Cabinet tells milliseconds, so that fewer would tell nothing.
    const unsigned number = chosen.quick ? std::min(operations, 40'000U) : operations;
    for (const unsigned count : threads.counts(chosen)) {
      for (const database& one : databases) measure_wicked(run, one, count, number, found);
      measure_lookups(run, count, number, found);
    }
  };
  return bench::compare_locks_under(
      {"kyoto_cabinet",
       "Kyoto Cabinet over each lock: operations per second by the number of threads.", measure,
       [&](CLI::App& app) {
         bench::add_option(app, "--operations", operations,
                           "Of all threads together, for each point",
                           bench::limits{10'000U, 1'000'000'000U});
         threads.add_to(app);
       }},
      argc, argv);
}
