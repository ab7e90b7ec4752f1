// SPDX-License-Identifier: Apache-2.0
#include "rcu/rcu_costs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <readmost/rcu.hpp>
#include <thread>
#include <vector>

#include "harness/batches.hpp"
#include "machine/heartbeats.hpp"
#include "machine/pinned_thread.hpp"

namespace bench {

namespace {

using clock = std::chrono::steady_clock;

struct retired_object;
struct keep {
  void operator()(retired_object*) const {}
};
struct retired_object : readmost::rcu_obj_base<retired_object, keep> {};

// The median of run(), which does `times` operations. Calls after() untimed.
template <class Run, class After>
double median_cost(sample_count samples, unsigned times, Run run, After after) {
  percentiles found;
  for (unsigned i = 0; i < samples.count; ++i) {
    found.add_ns(cost_of_one(run, times));
    after();
  }
  return found.median();
}

double cost_of_section(sample_count samples) {
  const auto read = [](std::uint64_t times) {
    for (; times != 0; --times) const readmost::rcu_reader section;
  };
  return median_cost(samples, 4096, read, [] {});
}

// For the retiring thread; the reclamation belongs to the cost of the grace period.
double cost_of_retire(sample_count samples) {
  constexpr unsigned at_once = 64;
  std::vector<retired_object> objects(at_once);
  const auto retire = [&](std::uint64_t) {
    for (retired_object& one : objects) one.retire();
  };
  return median_cost(samples, at_once, retire, [&] {
    readmost::rcu_barrier();
    objects = std::vector<retired_object>(at_once);
  });
}

double cost_of_grace_period(sample_count samples) {
  return median_cost(samples, 1, [](std::uint64_t) { readmost::rcu_synchronize(); }, [] {});
}

// Beside a reader on another CPU that reads without a pause.
double cost_of_grace_period_beside(int reader_cpu, sample_count samples) {
  std::atomic<bool> stopped{false};
  heartbeats alive;
  heartbeats::pulse& pulse = alive.add();
  std::thread reader([&] {
    const pinned there(reader_cpu);
    while (!stopped.load(std::memory_order_relaxed)) {
      const readmost::rcu_reader section;
      pulse.beat();
    }
  });
  percentiles found;
  const auto too_late = clock::now() + std::chrono::seconds(1);
  while (found.count() < samples.count) {
    alive.all_alive();
    const auto rested = clock::now() + std::chrono::microseconds(2);
    while (clock::now() < rested) {
    }
    const auto begin = clock::now();
    if (!alive.all_alive() && begin < too_late) {
      std::this_thread::yield();
      continue;
    }
    readmost::rcu_synchronize();
    found.add(clock::now() - begin);
  }
  stopped = true;
  reader.join();
  return found.median();
}

}  // namespace

synchronization_costs measure_synchronization(sample_count samples) {
  synchronization_costs found;
  found.local = cost_of_local_lock(samples);
  const std::optional<double> remote = cost_of_transfer(transferred::lock, samples);
  if (remote) found.transfer = std::max(*remote - found.local, 0.0);
  found.read = cost_of_section(samples);
  found.retire = cost_of_retire(samples);
  found.grace = cost_of_grace_period(samples);
  const std::vector<int> cpus = own_cpus();
  if (cpus.size() > 1) {
    const pinned here(cpus[0]);
    const double two = cost_of_grace_period_beside(cpus[1], samples);
    const double further = std::max(two - found.grace, 0.0);
    constexpr double lines = 3;
    found.grace_work = std::max(further - lines * found.transfer, 0.0);
    if (found.transfer > 0) found.grace_lines = (further - found.grace_work) / found.transfer;
  }
  return found;
}

}  // namespace bench
