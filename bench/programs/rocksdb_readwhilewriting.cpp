// RocksDB's readwhilewriting over each lock (BRAVO 5.5, Fig. 5): reads per second by the
// number of readers, beside one writer. The work is readwhilewriting.cpp. The paper's writer writes
// without a pause, so that a lock that starves it has more reads to show: its writes are told too.
// A second table is of a writer that does the same work over every lock.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "launcher.hpp"

namespace {

constexpr unsigned paced_writes = 1000;  // per second

struct table {
  const char* name;
  unsigned writes_per_second;  // 0: no pause
};
constexpr std::array<table, 2> tables{
    {{"RocksDB readwhilewriting", 0},
     {"RocksDB readwhilewriting, 1000 writes per second", paced_writes}}};

}  // namespace

int main(int argc, char** argv) {
  bench::seconds_option seconds;
  bench::threads_option readers;
  const auto measure = [&](const auto& run, bench::effort chosen, bench::figures& found) {
    const std::chrono::duration<double> time = seconds.point(chosen, std::chrono::seconds(1));
    const std::string program = bench::program_folder() / "programs" / "readwhilewriting";
    for (const table& one : tables) {
      for (const unsigned count : readers.counts(chosen)) {
        const bench::finished_program done =
            run({program, "--threads", fmt::to_string(count), "--seconds",
                 fmt::to_string(std::max(time.count(), 0.05)), "--writes-per-second",
                 fmt::to_string(one.writes_per_second)},
                {}, time);
        found.point(one.name, count, "more", "reads per second",
                    done.number_above_0("([0-9]+) operations per second"));
        found.point(fmt::format("{}: the writer", one.name), count, "neither", "writes per second",
                    done.number("([0-9.]+) writes per second"));
      }
    }
  };
  return bench::compare_locks_under(
      {"rocksdb_readwhilewriting",
       "RocksDB's readwhilewriting over each lock: reads per second by the number of readers.",
       measure,
       [&](CLI::App& app) {
         seconds.add_to(app);
         readers.add_to(app, "Numbers of readers");
       }},
      argc, argv);
}
