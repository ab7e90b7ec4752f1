// SPDX-License-Identifier: Apache-2.0
// Inter-lock interference (BRAVO 5.1, Fig. 1).
#include <memory>
#include <readmost/bravo.hpp>
#include <rivals/pf_q.hpp>
#include <stdexcept>

#include "harness/benchmark.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Inter-lock interference (BRAVO 5.1, Fig. 1): 64 threads lock a random lock of a pool for "
    "reading, take 20 steps of a random number generator, unlock, and take 100 steps. No thread "
    "writes. Acquisitions per second by the size of the pool, where all locks share the table of "
    "visible readers, and where each lock has its own table of 4096 slots; and the former as a "
    "fraction of the latter. bravo-ba has Readmost's policy, bravo-ba-paper the paper's, each over "
    "a phase-fair queue lock.";

struct options {
  unsigned threads = 64;
  std::vector<unsigned> pools{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};

  void add_to(CLI::App& app) {
    bench::add_option(app, "--readers", threads, "Threads that read", bench::limits{1U, 1024U});
    bench::add_option(app, "--pool", pools, "Numbers of locks", bench::limits{1U, 1U << 16});
  }
};

// Marsaglia's xorshift64.
class generator {
 public:
  explicit generator(unsigned seed) : state_{0x9E3779B97F4A7C15U * (seed + 1)} {}

  void step() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    // Keeps the compiler from dropping the steps, which are there to take time.
    asm volatile("" : "+r"(state_));
  }
  // From 0 to below `bound`.
  std::size_t below(std::size_t bound) {
    step();
    return static_cast<std::size_t>((state_ >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

template <class Lock>
class pool {
 public:
  explicit pool(std::size_t size) : size_(size), locks_(std::make_unique<place[]>(size)) {}

  double acquisitions_per_second(unsigned threads, std::chrono::nanoseconds time) {
    std::vector<bench::timed_body> bodies;
    for (unsigned i = 0; i < threads; ++i) {
      bodies.push_back([this, i](const std::atomic<bool>& stopped) { return read(i, stopped); });
    }
    const bench::timed_outcome outcome = bench::run_together(bodies, time);
    return outcome.per_second(outcome.total());
  }

  // Throws if a read hold is left over: it would block writers forever.
  void require_free() {
    for (std::size_t i = 0; i < size_; ++i) {
      if (!locks_[i].lock.try_lock()) throw std::runtime_error("a read hold is left over");
      locks_[i].lock.unlock();
    }
  }

 private:
  struct alignas(128) place {
    Lock lock;
  };

  std::uint64_t read(unsigned thread, const std::atomic<bool>& stopped) {
    generator random(thread);
    std::uint64_t times = 0;
    for (; !stopped.load(std::memory_order_relaxed); ++times) {
      Lock& lock = locks_[random.below(size_)].lock;
      lock.lock_shared();
      for (int i = 0; i < 20; ++i) random.step();
      lock.unlock_shared();
      for (int i = 0; i < 100; ++i) random.step();
    }
    return times;
  }

  std::size_t size_;
  std::unique_ptr<place[]> locks_;
};

template <class Policy>
struct with_private_tables : Policy {
  using table = readmost::detail::private_table<4096>;
};

template <class Policy>
void measure_policy(const options& chosen, bench::effort effort, bench::figures& found) {
  constexpr int rounds = 4;
  std::vector<unsigned> sizes = chosen.pools;
  if (effort.quick) sizes = {sizes.front(), sizes[sizes.size() / 2]};
  const std::chrono::nanoseconds time = effort.point(200ms) / rounds;
  for (const unsigned size : sizes) {
    pool<readmost::bravo<rivals::pf_q, Policy>> sharing(size);
    pool<readmost::bravo<rivals::pf_q, with_private_tables<Policy>>> apart(size);
    // The locks become biased, and their memory is touched.
    sharing.acquisitions_per_second(chosen.threads, time / 4);
    apart.acquisitions_per_second(chosen.threads, time / 4);
    double shared = 0;
    double own = 0;
    for (int round = 0; round < rounds; ++round) {
      // By turns, in an order of which neither always comes second.
      if (round % 2 != 0) own += apart.acquisitions_per_second(chosen.threads, time) / rounds;
      shared += sharing.acquisitions_per_second(chosen.threads, time) / rounds;
      if (round % 2 == 0) own += apart.acquisitions_per_second(chosen.threads, time) / rounds;
    }
    sharing.require_free();
    apart.require_free();
    found.point("Acquisitions, one table for all locks", size, "more", "per second", shared);
    found.point("Acquisitions, a table for each lock", size, "neither", "per second", own);
    found.point("Inter-lock interference", size, "more", "of the ideal", shared / own);
  }
}

struct policy {
  const char* name;
  void (*measure)(const options&, bench::effort, bench::figures&);
};

const bench::registration here("lock_interference", [] {
  const std::vector<policy> all{{"bravo-ba", measure_policy<readmost::bravo_policy>},
                                {"bravo-ba-paper", measure_policy<readmost::bravo_paper_policy>}};
  return bench::benchmark_of<options>(
      description, all, [](const policy& one, const options& chosen, auto effort, auto& found) {
        one.measure(chosen, effort, found);
      });
});

}  // namespace
