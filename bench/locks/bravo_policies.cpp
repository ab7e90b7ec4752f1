// SPDX-License-Identifier: Apache-2.0
// The effect of each part of a bravo policy, changed one at a time, over pthread's lock; and the
// kernels that scan the table of visible readers.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <stdexcept>
#include <type_traits>

#include "contenders/locks/contender_of.hpp"
#include "contenders/locks/lists.hpp"
#include "harness/benchmark.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using readmost::bravo;
using readmost::bravo_consensus_policy;
using readmost::bravo_paper_policy;
using readmost::bravo_policy;

constexpr const char* description =
    "Policies of bravo over pthread_rwlock_t, one part changed at a time: a read lock and unlock "
    "through a slot and through the lock underneath, a write lock and unlock with and without a "
    "revocation, in ns, the best of many short runs; RWBench (loops per second). And the cost of "
    "scans, in ns per slot.";

// --- Policies -----------------------------------------------------------------------------------

struct table_of_4096 : bravo_policy {
  using table = readmost::detail::shared_table_of_4096;
};
struct private_slots : bravo_policy {
  using table = readmost::detail::private_table<>;
};
struct scattered : bravo_policy {
  static constexpr bool spreads_threads = false;
};
struct one_probe : bravo_policy {
  static constexpr bool second_probe = false;
};
struct scalar_scan : bravo_policy {
  static constexpr bool vector_scan = false;
};
struct queue : bravo_policy {
  static constexpr bool writers_queue = true;
};
struct inhibited : bravo_policy {
  using bias = readmost::inhibited_bias<9>;
};
struct inhibited_rare_clock : bravo_policy {
  using bias = readmost::inhibited_bias<9, 16>;
};
struct drawn : bravo_policy {
  using bias = readmost::drawn_bias<100>;
};
struct paper_vector_scan : bravo_paper_policy {
  static constexpr bool vector_scan = true;
};
struct paper_weighed : bravo_paper_policy {
  using bias = readmost::weighed_bias;
};

// Always biased, and never.
template <class Policy>
struct eager : Policy {
  using bias = readmost::eager_bias;
};
template <class Policy>
struct unbiased : Policy {
  using bias = readmost::drawn_bias<~0U>;
};

// --- Measuring ----------------------------------------------------------------------------------

// The fastest of many runs of `times` calls: excludes interruptions.
template <class Call>
double best_of(bench::effort chosen, unsigned times, Call call) {
  double best = 1e9;
  const auto end = steady::now() + chosen.time(100ms);
  do {
    const auto begin = steady::now();
    for (unsigned i = 0; i < times; ++i) call();
    const std::chrono::duration<double, std::nano> took = steady::now() - begin;
    best = std::min(best, took.count() / times);
  } while (steady::now() < end);
  return best;
}

constexpr unsigned pairs = 200;

template <class Lock>
double read_pair(bench::effort chosen) {
  const auto lock = std::make_unique<Lock>();
  return best_of(chosen, pairs, [&] {
    lock->lock_shared();
    lock->unlock_shared();
  });
}

template <class Lock>
double write_pair(bench::effort chosen) {
  const auto lock = std::make_unique<Lock>();
  lock->lock_shared();
  lock->unlock_shared();
  return best_of(chosen, pairs, [&] {
    lock->lock();
    lock->unlock();
  });
}

template <class Lock>
void measure_mix(bench::effort effort, bench::figures& found) {
  for (const double probability : {0.5, 0.1, 0.01, 0.001, 0.0001}) {
    for (const unsigned threads : effort.counts()) {
      bench::counter_under<Lock> counter;
      std::vector<std::uint64_t> writes(threads);
      std::vector<bench::timed_body> bodies;
      for (unsigned i = 0; i < threads; ++i) {
        bodies.push_back([&, i](const std::atomic<bool>& stopped) {
          return counter.rwbench(i + 1, probability, writes[i], stopped);
        });
      }
      const auto outcome = bench::run_together(bodies, effort.point(200ms));
      std::uint64_t all = 0;
      for (const std::uint64_t of_one : writes) all += of_one;
      bench::require_no_write_lost(counter, all);
      found.point(fmt::format("RWBench, P = {:g}", probability), threads, "more",
                  "loops per second", outcome.per_second(outcome.total()));
    }
  }
}

template <class Lock, class Biased, class Unbiased>
void measure_lock(bench::effort effort, bench::figures& found) {
  const std::string table = "Lock and unlock";
  found.less_is_better(table, "read, biased", "ns", read_pair<Biased>(effort));
  found.less_is_better(table, "read, unbiased", "ns", read_pair<Unbiased>(effort));
  found.less_is_better(table, "write, with a revocation", "ns", write_pair<Biased>(effort));
  found.less_is_better(table, "write, without", "ns", write_pair<Unbiased>(effort));
  measure_mix<Lock>(effort, found);
}

template <class Policy>
void measure_policy(bench::effort effort, bench::figures& found) {
  using bench::pthread_lock;
  measure_lock<bravo<pthread_lock, Policy>, bravo<pthread_lock, eager<Policy>>,
               bravo<pthread_lock, unbiased<Policy>>>(effort, found);
}

// Scans a table in which other locks have some slots, with the cache as the scan before left it.
template <readmost::detail::scan_with Kernel>
void measure_scan(bench::effort effort, bench::figures& found) {
  struct alignas(64) slots {
    std::array<readmost::detail::visible_slot, 4096> slot{};
  };
  const auto table = std::make_unique<slots>();
  std::minstd_rand random(1);
  for (int i = 0; i < 16; ++i) table->slot[random() % 4096] = random() << 3 | 1;
  constexpr std::uint64_t unused_lock = 0x1000'0000'0000;
  for (const std::size_t count : {std::size_t{512}, std::size_t{4096}}) {
    const double whole = best_of(effort, 20, [&] {
      if (readmost::detail::find_hold(table->slot.data(), 0, count, unused_lock, Kernel) != count) {
        throw std::runtime_error("a scan found a hold that is not in the table");
      }
    });
    found.point("Scan", static_cast<double>(count), "less", "ns per slot",
                whole / static_cast<double>(count));
  }
}

// --- Contenders ---------------------------------------------------------------------------------

struct part {
  std::string name;
  void (*measure)(bench::effort, bench::figures&);
};

std::vector<part> all_parts() {
  using bench::pthread_lock;
  using readmost::detail::scan_with;
  std::vector<part> all{
      {"default", measure_policy<bravo_policy>},
      {"pthread", measure_lock<pthread_lock, pthread_lock, pthread_lock>},
      {"paper", measure_policy<bravo_paper_policy>},
      {"paper, vector scan", measure_policy<paper_vector_scan>},
      {"paper, weighed bias", measure_policy<paper_weighed>},
      {"inhibited bias", measure_policy<inhibited>},
      {"inhibited bias, rare clock", measure_policy<inhibited_rare_clock>},
      {"drawn bias", measure_policy<drawn>},
      {"table of 4096", measure_policy<table_of_4096>},
      {"private table", measure_policy<private_slots>},
      {"scattered threads", measure_policy<scattered>},
      {"one probe", measure_policy<one_probe>},
      {"scalar scan", measure_policy<scalar_scan>},
      {"writers' queue", measure_policy<queue>},
      {"consensus", measure_policy<bravo_consensus_policy>},
      {"scan, scalar", measure_scan<scan_with::scalar>},
  };
  const std::vector<std::pair<scan_with, part>> kernels{
      {scan_with::sse2, {"scan, sse2", measure_scan<scan_with::sse2>}},
      {scan_with::avx2, {"scan, avx2", measure_scan<scan_with::avx2>}},
      {scan_with::avx512, {"scan, avx512", measure_scan<scan_with::avx512>}},
      {scan_with::neon, {"scan, neon", measure_scan<scan_with::neon>}},
  };
  for (const auto& [kernel, one] : kernels) {
    if (readmost::detail::is_available(kernel)) all.push_back(one);
  }
  return all;
}

const bench::registration here("bravo_policies", [] {
  return bench::benchmark_of(description, all_parts(),
                             [](const part& one, bench::effort effort, bench::figures& found) {
                               one.measure(effort, found);
                             });
});

}  // namespace
