// SPDX-License-Identifier: Apache-2.0
// The cost of a read section with the same work in it, for RCU, hazard pointers and reader-writer
// locks.
#include "harness/benchmark.hpp"
#include "harness/timed_run.hpp"
#include "rcu/background_readers.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "The time of a read section in which a pointer is loaded and the object read, for each of one "
    "and of two threads, in nanoseconds. `empty` has no section. QSBR announces a quiescent state "
    "every 1024 sections.";

constexpr unsigned at_once = 1024;

// The loop without a section.
class no_section final : public bench::read_side {
 public:
  std::string name() const override { return "empty"; }
  void begin_thread() override {}
  void end_thread() override {}
  std::uint64_t read(const bench::shared_cell& from, unsigned times) override {
    std::uint64_t sum = 0;
    for (; times != 0; --times) sum += from.current.load(std::memory_order_acquire)->value;
    return sum;
  }
  void read_until(const std::atomic<bool>&, const bench::shared_cell&,
                  std::atomic<std::uint64_t>&) override {}
  void hold(const bench::shared_cell&, const std::function<void()>&) override {}
};

void measure(bench::read_side& side, bench::effort much, bench::figures& found) {
  bench::filled_cell cell;
  const auto read = [&](const std::atomic<bool>& stopped) {
    const bench::user_of member(side);
    std::uint64_t times = 0;
    do {  // at least once: a thread may be stopped before it first runs
      const std::uint64_t sum = side.read(*cell, at_once);
      asm volatile("" ::"r"(sum) : "memory");
      times += at_once;
    } while (!stopped.load(std::memory_order_relaxed));
    return times;
  };
  for (const unsigned threads : {1U, 2U}) {
    const bench::timed_outcome outcome =
        bench::run_together(std::vector<bench::timed_body>(threads, read), much.point(100ms));
    found.point("Read section", threads, "less", "ns",
                threads * 1e9 / outcome.per_second(outcome.total()));
  }
}

const bench::registration here("rcu_read_pair", [] {
  std::vector<std::unique_ptr<bench::read_side>> all = bench::all_read_sides();
  all.push_back(std::make_unique<no_section>());
  return bench::benchmark_of(description, std::move(all), measure);
});

}  // namespace
