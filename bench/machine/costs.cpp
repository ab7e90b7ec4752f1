// SPDX-License-Identifier: Apache-2.0
#include "machine/costs.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <numeric>
#include <random>
#include <readmost/detail/platform/platform.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "contenders/rcu/big_reader_lock.hpp"
#include "harness/percentiles.hpp"
#include "machine/pinned_thread.hpp"

namespace bench {

namespace {

using clock = std::chrono::steady_clock;

// Hides the value and its use from the compiler.
template <class T>
[[gnu::always_inline]] inline void hide(T& value) {
  asm volatile("" : "+r"(value));
}

// The median time of run(), divided by its number of operations. Interruptions do not count.
template <class Run>
double per_operation(sample_count samples, double operations, Run run) {
  run();
  percentiles found;
  for (unsigned i = 0; i < samples.count; ++i) {
    const auto begin = clock::now();
    run();
    found.add(clock::now() - begin);
  }
  return found.median() / operations;
}

constexpr unsigned times = 16'384;

template <class Operation>
double cost_of_each(sample_count samples, Operation operation) {
  return per_operation(samples, times, [&] {
    for (unsigned i = 0; i < times; ++i) operation(i);
  });
}

struct alignas(64) counter_line {
  std::atomic<std::uint64_t> count{0};
};

struct alignas(64) link {
  link* next;
};

struct unmap {
  void operator()(void* memory) const { std::free(memory); }
};

// A random cycle through all links (Sattolo). In huge pages where possible, so that the page tables
// do not count.
std::unique_ptr<link[], unmap> ring_of(std::size_t count) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  const std::size_t bytes = (count * sizeof(link) + huge_page - 1) / huge_page * huge_page;
  void* const memory = std::aligned_alloc(huge_page, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);
  std::unique_ptr<link[], unmap> links(static_cast<link*>(memory));
  for (std::size_t i = 0; i < count; ++i) links[i].next = &links[i];
  std::minstd_rand random(1);
  for (std::size_t i = count - 1; i > 0; --i) {
    std::swap(links[i].next,
              links[std::uniform_int_distribution<std::size_t>(0, i - 1)(random)].next);
  }
  return links;
}

// Lines that a partner on another CPU writes, and then this thread uses, by turns.
class shared_lines {
 public:
  static constexpr unsigned count = 256;

  shared_lines(int cpu, transferred what) : what_(what) {
    std::iota(order_.begin(), order_.end(), 0U);
    std::shuffle(order_.begin(), order_.end(), std::minstd_rand(2));
    partner_ = std::thread([this, cpu] {
      const pinned here(cpu);
      for (unsigned turn = 1;; turn += 2) {
        if (!await(turn)) return;
        use_all();
        turn_.store(turn + 1, std::memory_order_release);
      }
    });
  }
  ~shared_lines() {
    turn_.store(over, std::memory_order_release);
    partner_.join();
  }
  shared_lines(const shared_lines&) = delete;
  shared_lines& operator=(const shared_lines&) = delete;

  // The time of using all lines after the partner has written them.
  clock::duration one_turn() {
    const unsigned turn = turn_.load(std::memory_order_relaxed);
    turn_.store(turn + 1, std::memory_order_release);
    await(turn + 2);
    const auto begin = clock::now();
    use_all();
    return clock::now() - begin;
  }

 private:
  static constexpr unsigned over = ~0U;

  // One per pair of lines: processors fetch pairs.
  struct alignas(128) line {
    std::atomic<std::uint64_t> count{0};
    spinlock lock;
  };

  bool await(unsigned turn) {
    for (unsigned spins = 1;; ++spins) {
      const unsigned now = turn_.load(std::memory_order_acquire);
      if (now == over) return false;
      if (now == turn) return true;
      readmost::detail::platform::relax();
      if (spins % 1024 == 0) std::this_thread::yield();
    }
  }

  void use_all() {
    switch (what_) {
      case transferred::increment:
        return each([](line& at) { return at.count.fetch_add(1) >> 63; });
      case transferred::blind:
        return each([this](line& at) {
          std::uint64_t expected = used_;
          return at.count.compare_exchange_strong(expected, used_ + 1) ? 0U : 1U;
        });
      case transferred::invalidating:
        return each([](line& at) {
          std::uint64_t seen = at.count.load(std::memory_order_relaxed);
          return at.count.compare_exchange_strong(seen, seen + 1) ? 0U : 1U;
        });
      case transferred::lock:
        return each([](line& at) {
          // The guarded counter is on the line of the lock: the next access waits for it.
          at.lock.lock();
          const std::uint64_t seen = at.count.load(std::memory_order_relaxed);
          at.count.store(seen + 1, std::memory_order_relaxed);
          at.lock.unlock();
          return seen >> 63;
        });
    }
  }

  // In random order, each after the one before: the next index depends on its result, which is 0.
  template <class Use>
  void each(Use use) {
    std::uint64_t at = 0;
    for (unsigned i = 0; i < count; ++i) {
      at = i + use(lines_[order_[at]]);
      hide(at);
      ++at;
      at %= count;
    }
    ++used_;
  }

  transferred what_;
  std::array<line, count> lines_;
  std::array<unsigned, count> order_{};
  // How often both threads have used each line; handed over with the turn.
  std::uint64_t used_ = 0;
  alignas(128) std::atomic<unsigned> turn_{0};
  std::thread partner_;
};

}  // namespace

cache_sizes caches() {
  cache_sizes found{std::size_t{32} << 10, std::size_t{1} << 20, 0};
  const std::string all = "/sys/devices/system/cpu/cpu0/cache/index";
  for (int i = 0;; ++i) {
    const auto told = [&](const char* what) {
      std::string text;
      std::ifstream(all + std::to_string(i) + what) >> text;
      return text;
    };
    const std::string level = told("/level");
    if (level.empty()) break;
    if (told("/type") == "Instruction") continue;
    const std::size_t size = std::strtoull(told("/size").c_str(), nullptr, 10) << 10;  // "32K"
    if (size == 0) continue;
    if (level == "1") found.first = size;
    if (level == "2") found.second = size;
    found.last = std::max(found.last, size);
  }
  found.second = std::max(found.second, found.first);
  found.last = std::max(found.last, found.second);
  return found;
}

double cost_of_cycle(sample_count samples) {
  return per_operation(samples, times, [] {
    std::uint64_t sum = 1;
    std::uint64_t more = 1;
    hide(more);
    for (unsigned i = 0; i < times / 64; ++i) {
#pragma GCC unroll 64
      for (unsigned j = 0; j < 64; ++j) {
        sum += more;
        hide(sum);
      }
    }
  });
}

double cost_of_instruction(sample_count samples) {
  return per_operation(samples, times, [] {
    std::uint64_t a = 1, b = 1, c = 1, d = 1, e = 1, f = 1, g = 1, h = 1;
    std::uint64_t more = 1;
    hide(more);
    for (unsigned i = 0; i < times / 64; ++i) {
#pragma GCC unroll 8
      for (unsigned j = 0; j < 8; ++j) {
        a += more, b += more, c += more, d += more, e += more, f += more, g += more, h += more;
        asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h));
      }
    }
  });
}

double cost_of_load(std::size_t bytes, sample_count samples) {
  const std::size_t count = std::max<std::size_t>(bytes / sizeof(link), 2);
  const auto ring = ring_of(count);
  link* at = &ring[0];
  if (bytes <= caches().last) {
    for (std::size_t i = 0; i < count; ++i) at = at->next;
    hide(at);
  }
  constexpr unsigned steps = 2048;
  return per_operation(samples, steps, [&] {
    for (unsigned i = 0; i < steps; ++i) at = at->next;
    hide(at);
  });
}

double cost_of_atomic_increment(sample_count samples) {
  counter_line mine;
  return cost_of_each(samples, [&](unsigned) { mine.count.fetch_add(1); });
}

double cost_of_cmpxchg_increment(sample_count samples) {
  counter_line mine;
  return cost_of_each(samples, [&](unsigned) {
    std::uint64_t seen = mine.count.load(std::memory_order_relaxed);
    while (!mine.count.compare_exchange_weak(seen, seen + 1)) {
    }
  });
}

// With a store before it, so that the fence has to wait.
double cost_of_fence(sample_count samples) {
  counter_line mine;
  return cost_of_each(samples, [&](unsigned i) {
    mine.count.store(i, std::memory_order_relaxed);
    readmost::detail::platform::full_fence();
  });
}

double cost_of_local_lock(sample_count samples) {
  alignas(64) spinlock mine;
  return cost_of_each(samples, [&](unsigned) {
    mine.lock();
    mine.unlock();
  });
}

std::optional<double> cost_of_transfer(transferred what, sample_count samples) {
  const std::vector<int> cpus = own_cpus();
  if (cpus.size() < 2) return std::nullopt;
  const pinned here(cpus[0]);
  const auto lines = std::make_unique<shared_lines>(cpus[1], what);
  percentiles found;
  lines->one_turn();
  for (unsigned i = 0; i < samples.count; ++i) found.add(lines->one_turn());
  return found.median() / shared_lines::count;
}

std::optional<double> cost_of_contended_increment(sample_count samples) {
  const std::vector<int> cpus = own_cpus();
  if (cpus.size() < 2) return std::nullopt;
  constexpr unsigned at_once = 1024;
  counter_line both;
  std::atomic<bool> stopped{false};
  const pinned here(cpus[0]);
  std::thread partner([&] {
    const pinned there(cpus[1]);
    while (!stopped.load(std::memory_order_relaxed)) both.count.fetch_add(1);
  });
  while (both.count.load() == 0) std::this_thread::yield();
  percentiles found;
  // The partner may be off its CPU: counts only samples that it disturbed.
  const auto enough = clock::now() + std::chrono::seconds(1);
  while (found.count() < samples.count && (found.count() == 0 || clock::now() < enough)) {
    const std::uint64_t before = both.count.load();
    const auto begin = clock::now();
    for (unsigned i = 0; i < at_once; ++i) both.count.fetch_add(1);
    const auto end = clock::now();
    const std::uint64_t others = both.count.load() - before - at_once;
    if (others >= at_once / 2) found.add(end - begin);
  }
  stopped = true;
  partner.join();
  return found.median() / at_once;
}

operation_costs measure_operations(sample_count samples) {
  const cache_sizes cache = caches();
  operation_costs found;
  found.clock_cycle = cost_of_cycle(samples);
  found.instruction = cost_of_instruction(samples);
  found.l1_hit = cost_of_load(cache.first / 2, samples);
  found.l2_hit = cost_of_load(std::max(cache.second / 2, 2 * cache.first), samples);
  found.last_cache_hit =
      cost_of_load(std::max(std::min(cache.last / 4, 4 * cache.second), 2 * cache.second), samples);
  found.main_memory = cost_of_load(std::max(4 * cache.last, std::size_t{128} << 20), samples);
  found.atomic_increment = cost_of_atomic_increment(samples);
  found.cmpxchg_increment = cost_of_cmpxchg_increment(samples);
  found.fence = cost_of_fence(samples);
  found.local_lock = cost_of_local_lock(samples);
  found.increment_transfer = cost_of_transfer(transferred::increment, samples);
  found.blind_transfer = cost_of_transfer(transferred::blind, samples);
  found.invalidating_transfer = cost_of_transfer(transferred::invalidating, samples);
  found.lock_transfer = cost_of_transfer(transferred::lock, samples);
  found.contended_increment = cost_of_contended_increment(samples);
  return found;
}

}  // namespace bench
