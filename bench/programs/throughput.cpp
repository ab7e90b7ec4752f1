// SPDX-License-Identifier: Apache-2.0
// Programs and libraries over each preloaded lock: operations per second by the number of threads.
// The programs are in examples/ and programs/readwhilewriting.cpp and print their measurements.
#include <fmt/format.h>

#include <algorithm>

#include "programs/launcher.hpp"

namespace {

using namespace std::chrono_literals;
using words = std::vector<std::string>;

struct program {
  std::string table;
  words command;
  bool has_writer = false;  // prints its rate of writes, too
};

void measure_programs(const std::vector<program>& all, const char* unit,
                      const bench::run_function& run, const bench::effort& much,
                      const std::vector<unsigned>& threads, std::chrono::nanoseconds usual,
                      bench::figures& found) {
  // A program that starts slowly needs some time at its speed.
  const std::chrono::duration<double> time =
      std::max<std::chrono::nanoseconds>(much.point(usual), 50ms);
  for (const program& one : all) {
    for (const unsigned count : much.counts(threads)) {
      words command = one.command;
      command.insert(command.end(), {"--threads", fmt::to_string(count), "--seconds",
                                     fmt::to_string(time.count())});
      const bench::finished_program done = run(command, {}, time);
      found.point(one.table, count, "more", unit,
                  done.number_above_0("([0-9]+) operations per second"));
      if (!one.has_writer) continue;
      found.point(one.table + ": the writer", count, "neither", "writes per second",
                  done.number("([0-9.]+) writes per second"));
    }
  }
}

std::string example(const char* name) {
  return bench::program_folder() / "examples" / name;
}

void measure_real_programs(const bench::run_function& run, bench::effort much,
                           bench::figures& found) {
  const std::string map = example("shared_map");
  measure_programs({{"Node.js, parse a PEM key", {BENCH_NODE, BENCH_NODE_PEM}},
                    {"RE2, one object in all threads", {example("re2_shared")}},
                    {"std::pmr pool, allocate and free", {example("pmr_pool")}},
                    {"OpenSSL, fetch digest and cipher", {example("openssl_fetch")}},
                    {"OpenSSL, parse a certificate", {example("x509_parse")}},
                    {"std::shared_mutex map, reads only", {map}},
                    {"std::shared_mutex map, 1 write in 1000", {map, "--writes-per", "1000"}},
                    {"std::shared_mutex map, 1 write in 4", {map, "--writes-per", "4"}}},
                   "operations per second", run, much, {1, 2, 8}, 500ms, found);
}

const bench::registration real_programs("real_programs", [] {
  return bench::benchmark_of_preloaded_locks(
      "Real programs, unchanged, over each lock: operations per second by threads.",
      measure_real_programs);
});

void measure_rwbench(const bench::run_function& run, bench::effort much, bench::figures& found) {
  std::vector<program> all;
  for (const char* const probability : {"0.9", "0.5", "0.1", "0.01", "0.001", "0.0001"}) {
    all.push_back({fmt::format("RWBench, P = {}", probability),
                   {example("rwbench"), "--probability", probability}});
  }
  measure_programs(all, "loops per second", run, much, {2, 8}, 400ms, found);
}

const bench::registration rwbench("rwbench_preloaded", [] {
  return bench::benchmark_of_preloaded_locks(
      "RWBench (BRAVO 5.4) with glibc's pthread_rwlock_t over each preloaded lock: loops per "
      "second "
      "by threads and by the probability P of a write.",
      measure_rwbench);
});

#if defined(BENCH_HAS_ROCKSDB)

// The paper's writer writes without a pause, so that a lock that starves it has more reads to show:
// its writes are figures too. In the second table the writer does the same work over every lock.
void measure_rocksdb(const bench::run_function& run, bench::effort much, bench::figures& found) {
  const std::string command = bench::program_folder() / "programs" / "readwhilewriting";
  const std::string option = "--writes-per-second";
  measure_programs(
      {{"RocksDB readwhilewriting", {command, option, "0"}, true},
       {"RocksDB readwhilewriting, 1000 writes per second", {command, option, "1000"}, true}},
      "reads per second", run, much, {1, 2, 4, 8}, 1s, found);
}

const bench::registration rocksdb("rocksdb_readwhilewriting", [] {
  return bench::benchmark_of_preloaded_locks(
      "RocksDB's readwhilewriting over each lock (BRAVO 5.5, Fig. 5): reads per second by the "
      "number "
      "of readers, beside one writer.",
      measure_rocksdb, bench::all_preloaded_with_preferences());
});

#endif

}  // namespace
