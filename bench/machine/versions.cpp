// SPDX-License-Identifier: Apache-2.0
#include "machine/versions.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <readmost/rcu.hpp>
#include <thread>

#include "machine/heartbeats.hpp"
#include "machine/pinned_thread.hpp"
#include "machine/ticks.hpp"

namespace bench {

namespace {

using clock = std::chrono::steady_clock;

std::uint64_t in_ticks(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(static_cast<double>(time.count()) / ns_per_tick());
}

// A round of the paper's experiment. Both sides act at random times after an agreed time.
struct memory_round {
  alignas(64) std::atomic<std::uint64_t> location{0};
  alignas(64) std::atomic<std::uint64_t> begin{0};  // in ticks; 0: not yet
  alignas(64) std::atomic<std::uint64_t> round{0};  // the reader may begin
  std::atomic<bool> over{false};
  // Written by the reader, handed over with `done`.
  alignas(64) std::uint64_t read_at = 0;
  std::uint64_t found = 0;
  std::atomic<std::uint64_t> done{0};
};

constexpr auto spread = std::chrono::nanoseconds(1000);

void read_at_random_times(memory_round& shared) {
  std::minstd_rand random(2);
  std::uniform_int_distribution<std::uint64_t> delay(0, in_ticks(spread));
  for (std::uint64_t round = 1;; ++round) {
    std::uint64_t begin = 0;
    for (unsigned spins = 1; shared.round.load(std::memory_order_acquire) != round; ++spins) {
      if (shared.over.load(std::memory_order_relaxed)) return;
      if (spins % 4096 == 0) std::this_thread::yield();
    }
    begin = shared.begin.load(std::memory_order_relaxed);
    // Fetches the line, as a repeated reader has it.
    shared.location.load(std::memory_order_relaxed);
    const std::uint64_t when = begin + delay(random);
    while (ticks() < when) {
    }
    shared.found = shared.location.load(std::memory_order_relaxed);
    shared.read_at = ticks();
    shared.done.store(round, std::memory_order_release);
  }
}

}  // namespace

staleness_of_memory measure_memory(unsigned rounds, std::chrono::nanoseconds most) {
  staleness_of_memory result;
  const std::vector<int> cpus = own_cpus();
  if (cpus.size() < 2) return result;
  ns_per_tick();
  const pinned here(cpus[0]);
  const auto shared = std::make_unique<memory_round>();
  std::thread reader([&] {
    const pinned there(cpus[1]);
    read_at_random_times(*shared);
  });
  std::minstd_rand random(1);
  std::uniform_int_distribution<std::uint64_t> delay(0, in_ticks(spread));
  const auto over = clock::now() + most;
  for (std::uint64_t round = 1; round <= rounds && clock::now() < over; ++round) {
    const std::uint64_t begin = ticks() + in_ticks(spread);
    shared->begin.store(begin, std::memory_order_relaxed);
    shared->round.store(round, std::memory_order_release);
    const std::uint64_t when = begin + delay(random);
    while (ticks() < when) {
    }
    const std::uint64_t written_at = ticks();
    shared->location.store(round, std::memory_order_relaxed);
    for (unsigned spins = 1; shared->done.load(std::memory_order_acquire) != round; ++spins) {
      if (spins % 4096 == 0) std::this_thread::yield();
    }
    ++result.reads;
    if (shared->found != round && shared->read_at > written_at) {
      result.stale_ns.push_back(static_cast<double>(shared->read_at - written_at) * ns_per_tick());
    }
  }
  shared->over = true;
  reader.join();
  return result;
}

std::vector<std::optional<double>> measure_versions(unsigned readers,
                                                    std::chrono::nanoseconds section,
                                                    std::chrono::nanoseconds rest, unsigned times,
                                                    std::chrono::nanoseconds most) {
  const std::uint64_t inside = in_ticks(section);
  const std::uint64_t outside = in_ticks(rest);
  const std::uint64_t longest = in_ticks(std::chrono::milliseconds(1));
  std::atomic<bool> stopped{false};
  heartbeats alive;
  std::vector<std::atomic<const readmost::detail::thread_record*>> records(readers);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < readers; ++i) {
    heartbeats::pulse& pulse = alive.add();
    threads.emplace_back([&, i] {
      const auto spin = [&](std::uint64_t count) {
        const std::uint64_t begin = ticks();
        while (ticks() - begin < count) pulse.beat();
      };
      {
        const readmost::rcu_reader first;
      }
      records[i].store(&readmost::detail::my_record(), std::memory_order_release);
      while (!stopped.load(std::memory_order_relaxed)) {
        {
          const readmost::rcu_reader open;
          if (inside != 0) spin(inside);
        }
        if (outside != 0) spin(outside);
        pulse.beat();
      }
    });
  }
  for (const auto& record : records) {
    while (record.load(std::memory_order_acquire) == nullptr) std::this_thread::yield();
  }

  std::vector<std::optional<double>> seen;
  std::minstd_rand random(1);
  std::uniform_int_distribution<std::uint64_t> pause(0, 2 * (inside + outside));
  std::vector<std::optional<std::uint64_t>> after(readers);
  const auto over = clock::now() + most;
  const auto too_late = clock::now() + 10 * most;
  for (unsigned i = 0; i < times && (i < 3 || clock::now() < over);) {
    alive.all_alive();
    spin_ticks(in_ticks(spread) + pause(random));
    // Measures nevertheless if the readers never all run.
    if (!alive.all_alive() && clock::now() < too_late) {
      std::this_thread::yield();
      continue;
    }
    ++i;
    std::fill(after.begin(), after.end(), std::nullopt);
    const std::uint64_t begin = ticks();
    // As begin_round() of the library, without waiting.
    const std::uint64_t version =
        readmost::detail::default_domain.version.fetch_add(2, readmost::detail::platform::seq_cst) +
        2;
    std::uint64_t now = begin;
    for (unsigned missing = readers; missing != 0 && now - begin < longest;) {
      for (unsigned r = 0; r < readers; ++r) {
        if (after[r]) continue;
        const std::uint64_t reported = records[r]
                                           .load(std::memory_order_relaxed)
                                           ->seen.load(readmost::detail::platform::acquire);
        now = ticks();
        if (static_cast<std::int64_t>(reported - version) >= 0) {
          after[r] = now - begin;
          --missing;
        }
      }
    }
    for (const auto& one : after) {
      const bool soon = one && *one < longest;
      seen.push_back(soon ? std::optional(static_cast<double>(*one) * ns_per_tick())
                          : std::nullopt);
    }
  }
  stopped = true;
  for (std::thread& thread : threads) thread.join();
  return seen;
}

}  // namespace bench
