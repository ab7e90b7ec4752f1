// SPDX-License-Identifier: Apache-2.0
// How long a writer waits for the lock.
#include <algorithm>
#include <latch>
#include <thread>

#include "contenders/locks/contenders.hpp"
#include "harness/batches.hpp"
#include "harness/sleep_rounds.hpp"
#include "harness/workers.hpp"
#include "statistics/statistics.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr const char* description =
    "How long a writer waits for the lock, in nanoseconds, one call of the clock included: against "
    "a reader without a pause, every 10 and every 200 us; among 64 threads that have read and now "
    "wait for something else; and after 4 readers that slept in their sections, from the moment "
    "the "
    "last one begins to leave. For prwlock also the rounds of consensus per 1000 writes.";

class measurement {
 public:
  measurement(const bench::contender& lock, bench::effort much, bench::figures& found)
      : lock_(lock), effort_(much), found_(found), counter_(lock.make_counter()) {}

  void against_reader(std::chrono::microseconds gap, const char* table) {
    const auto read = [this](const std::atomic<bool>& stopped, unsigned,
                             std::atomic<std::uint64_t>& reads) {
      const auto count = [&reads] {
        reads.store(reads.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      };
      counter_->read_and_call([] {}, count, stopped);
    };
    const bench::workers reader(1, read, 10'000);
    // The gap lets the fast path of readers come back.
    const auto pause = [&] {
      reader.wait_for(1);
      bench::spin_for(gap);
    };
    measure(table, 1000, pause, when_asked);
  }

  // The readers of the next two call read_and_call() once: a lock may not let a thread make its
  // holder while another is inside.
  void among_idle_threads() {
    constexpr int count = 64;
    std::latch have_read(count);
    std::latch over(1);
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i) {
      threads.emplace_back([&] {
        std::atomic<bool> stopped{false};
        const auto wait_after_reads = [&, reads = 0]() mutable {
          if (++reads <= 1000) return;
          have_read.count_down();
          over.wait();
          stopped = true;
        };
        counter_->read_and_call(wait_after_reads, [] {}, stopped);
      });
    }
    have_read.wait();
    // Reads between the writes let the fast path of readers come back.
    measure(
        "Write lock among 64 idle threads that have read", 1000,
        [&] { counter_->read_times(1000, 0); }, when_asked);
    over.count_down();
  }

  void after_sleeping_readers() {
    constexpr unsigned count = 4;
    constexpr unsigned reads_of_round = 200;
    bench::sleep_rounds rounds(count);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < count; ++i) {
      threads.emplace_back([this, &rounds, i] {
        std::atomic<bool> stopped{false};
        unsigned reads = 0;
        const auto begin = [&] {
          if (reads == 0) stopped = !rounds.begin();
        };
        const auto sleep = [&] {
          if (++reads <= reads_of_round) return;
          rounds.sleep(i);
          reads = 0;
        };
        counter_->read_and_call(begin, sleep, stopped);
      });
    }
    measure(
        "Write lock after 4 readers slept inside, from the last one's leaving", 300,
        [&] { rounds.fall_asleep(); }, [&] { return rounds.last_left(); });
    rounds.end();
  }

 private:
  static constexpr auto when_asked = [] { return clock::time_point::min(); };

  // A wait begins when the lock is asked for or at start(), whichever is later.
  template <class Prepare, class Start>
  void measure(const char* table, unsigned times, Prepare prepare, Start start) {
    bench::percentiles waits;
    const readmost::detail::statistics before = readmost::detail::collect_statistics();
    std::atomic<bool> done{false};
    counter_->write_timed(
        prepare,
        [&](clock::time_point asked, clock::time_point acquired) {
          waits.add(acquired - std::max(asked, start()));
          done = waits.count() == effort_.times(times);
        },
        done);
    const readmost::detail::statistics after = readmost::detail::collect_statistics();
    found_.latency(table, waits);
    if (lock_.name() != "prwlock") return;
    const auto rounds = [&](const char* name, std::uint64_t from, std::uint64_t to) {
      found_.neutral(table, name, "per 1000 writes",
                     1000 * static_cast<double>(to - from) / static_cast<double>(waits.count()));
    };
    rounds("rounds by reports", before.rounds_by_reports, after.rounds_by_reports);
    rounds("rounds by membarrier", before.rounds_by_membarrier, after.rounds_by_membarrier);
  }

  const bench::contender& lock_;
  bench::effort effort_;
  bench::figures& found_;
  std::unique_ptr<bench::guarded_counter> counter_;
};

void measure(const bench::contender& lock, bench::effort much, bench::figures& found) {
  measurement of(lock, much, found);
  of.against_reader(10us, "Write lock against a reader without a pause, every 10 us");
  of.against_reader(200us, "Write lock against a reader without a pause, every 200 us");
  of.among_idle_threads();
  of.after_sleeping_readers();
}

const bench::registration here("write_latency",
                               [] { return bench::benchmark_of_locks(description, measure); });

}  // namespace
