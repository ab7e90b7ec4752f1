// SPDX-License-Identifier: Apache-2.0
#include "machine/synchronization_costs.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <readmost/shared_mutex.hpp>
#include <utility>

#include "machine/instruction_cost.hpp"

namespace readmost::command {
namespace {

// --- Cache line transfer ------------------------------------------------------------------------

// Partners for the first CPU: one of each nearness, one half-way and the last.
std::vector<int> partners_of_first(const std::vector<int>& cpus) {
  std::vector<int> partners;
  std::vector<std::string> seen;
  for (std::size_t i = 1; i < cpus.size(); ++i) {
    const std::string near = nearness(cpus.front(), cpus[i]);
    const bool is_new = std::ranges::find(seen, near) == seen.end();
    if (is_new) seen.push_back(near);
    if (is_new || i == cpus.size() / 2 || i + 1 == cpus.size()) partners.push_back(cpus[i]);
  }
  return partners;
}

std::optional<spread> cost_of_transfer(int cpu, int other, const effort& much) {
  word ball;
  const stay_on here(cpu);
  company there({other}, [&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (ball.value.load(std::memory_order_acquire) == 1) {
        ball.value.store(0, std::memory_order_release);
      }
    }
  });
  if (!here || !there.pinned()) return std::nullopt;
  const auto there_and_back = [&] {
    ball.value.store(1, std::memory_order_release);
    while (ball.value.load(std::memory_order_acquire) != 0) {
    }
  };
  return cost_of(much, there_and_back, there.clocks()) / 2;
}

// The nearest and the farthest of the sample.
std::vector<synchronization_costs::transfer> measure_transfers(const std::vector<int>& cpus,
                                                               const effort& much) {
  std::vector<synchronization_costs::transfer> all;
  for (const int other : partners_of_first(cpus)) {
    if (const auto cost = cost_of_transfer(cpus.front(), other, much)) {
      all.push_back({cpus.front(), other, nearness(cpus.front(), other), *cost});
    }
  }
  std::ranges::sort(all, {}, [](const auto& pair) { return pair.cost.median; });
  if (all.size() > 2) all = {all.front(), all.back()};
  return all;
}

// --- membarrier ---------------------------------------------------------------------------------

// 0, 1, 2, 4 and so on, up to all CPUs but the measuring thread's.
std::vector<std::size_t> running_counts(std::size_t cpus) {
  std::vector<std::size_t> counts{0};
  for (std::size_t count = 1; count < cpus - 1; count *= 2) counts.push_back(count);
  if (cpus > 1) counts.push_back(cpus - 1);
  return counts;
}

spread cost_of_fence(const effort& much, std::vector<clockid_t> others = {}) {
  return cost_of(much, [] { platform::heavy_fence(); }, std::move(others));
}

// --- Waking -------------------------------------------------------------------------------------

std::optional<spread> measure_wake(const std::vector<int>& cpus, const effort& much) {
  word bell;
  std::atomic<std::uint64_t> ran_at{0};
  const stay_on here(cpus[0]);
  const company there({cpus[1]}, [&](const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [&] {
      bell.value.fetch_add(1);
      platform::futex_wake(platform::futex_of(bell.value), 1, ~0U);
    });
    std::uint32_t heard = 0;
    while (!stop.stop_requested()) {
      platform::futex_wait(platform::futex_of(bell.value), heard, ~0U, nullptr);
      const std::uint64_t time = platform::now();
      const std::uint32_t now = bell.value.load();
      if (now != heard) ran_at.store(time);
      heard = now;
    }
  });
  std::vector<double> samples;
  for (int i = 0; i < 3 * much.samples; ++i) {
    platform::sleep_for(100'000);  // long enough for the other to fall asleep again
    ran_at.store(0);
    const std::uint64_t start = platform::now();
    bell.value.fetch_add(1);
    const bool slept = platform::futex_wake(platform::futex_of(bell.value), 1, ~0U) == 1;
    std::uint64_t time = 0;
    while ((time = ran_at.load()) == 0) platform::relax();
    if (slept && time > start) samples.push_back(static_cast<double>(time - start));
  }
  return spread_of(samples);
}

// --- Locks ---------------------------------------------------------------------------------------

lock_costs measure_shared_mutex(const std::vector<int>& cpus, const effort& much) {
  alignas(platform::cache_line) shared_mutex read;
  alignas(platform::cache_line) shared_mutex written;
  return costs_of(
      cpus, much,
      [&] {
        read.lock_shared();
        read.unlock_shared();
      },
      [&] {
        written.lock();
        written.unlock();
      });
}

}  // namespace

spread cost_of_fence_beside_sleeper(const effort& much) {
  word bed;
  const company sleeper({cpus_of_this_thread().back()}, [&](const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [&] {
      bed.value.store(1);
      platform::futex_wake(platform::futex_of(bed.value), 1, ~0U);
    });
    while (!stop.stop_requested()) {
      platform::futex_wait(platform::futex_of(bed.value), 0, ~0U, nullptr);
    }
  });
  platform::sleep_for(1'000'000);  // it falls asleep
  return cost_of_fence(much);
}

unsigned long measurements_of(const machine_facts& machine) {
  const std::size_t cpus = machine.cpus.at_once();
  return (cpus > 1 ? 6 : 4) +
         (machine.membarrier.offers_private() ? running_counts(cpus).size() + 1 : 0);
}

synchronization_costs measure_synchronization(const machine_facts& machine, const effort& much,
                                              const std::function<void()>& done) {
  synchronization_costs costs;
  word one;
  costs.store = cost_of_instruction(much, [&] {
    one.value.store(1, std::memory_order_relaxed);
    platform::light_fence();
  });
  done();
  costs.fetch_add = cost_of_instruction(much, [&] { one.value.fetch_add(1); });
  done();
  costs.store_and_fence = cost_of_instruction(much, [&] {
    one.value.store(1, std::memory_order_relaxed);
    platform::full_fence();
  });
  done();

  std::vector<int> cpus = machine.cpus.usable;
  if (cpus.size() > machine.cpus.at_once()) cpus.resize(machine.cpus.at_once());
  if (cpus.size() > 1) {
    costs.transfers = measure_transfers(machine.cpus.usable, much);
    done();
    costs.wake = measure_wake(cpus, much);
    done();
  }
  if (machine.membarrier.offers_private() && platform::enable_heavy_fence()) {
    for (const std::size_t running : running_counts(cpus.size())) {
      const stay_on here(cpus.front());
      company others({cpus.begin() + 1, cpus.begin() + 1 + static_cast<std::ptrdiff_t>(running)},
                     [](const std::stop_token& stop) {
                       while (!stop.stop_requested()) platform::relax();
                     });
      costs.membarriers.push_back({running, 0, cost_of_fence(much, others.clocks())});
      done();
    }
    costs.membarriers.insert(costs.membarriers.begin() + 1,
                             {0, 1, cost_of_fence_beside_sleeper(much)});
    done();
  }
  // Where membarrier is refused these are the costs of an ordinary lock; where it kills, skip them.
  if (!machine.membarrier.killed) costs.readmost = measure_shared_mutex(cpus, much);
  done();
  return costs;
}

}  // namespace readmost::command
