// SPDX-License-Identifier: Apache-2.0
// Lock-free structures under different policies of reclamation: throughput, and how much waits to
// be reclaimed, also while a reader stands still.
#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "contenders/reclamation/lock_free_sets.hpp"
#include "contenders/reclamation/waiting_objects.hpp"
#include "harness/benchmark.hpp"
#include "harness/workers.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Operations per second in sets without locks by threads that search, insert and remove random "
    "keys without a pause, and the most bytes of removed nodes that waited to be reclaimed at a "
    "time, under each policy of reclamation: a list (Harris, Michael; keys up to 512), and with "
    "keys up to 65,536 a hash map of such lists, an external search tree (Natarajan, Mittal) and a "
    "skip list (Fraser), half full at first. In a mix of reads (5 inserts and 5 removals in 100 "
    "operations) and in one of changes alone (50 and 50), by number of threads; and with one more "
    "thread, a reader that stays inside an operation. Every policy has the same structure, made "
    "for "
    "hazard pointers: a thread that meets a removed node takes it out. `none` reclaims nothing. "
    "`epochs` is their simplest form, reclaimed by the thread that retired. Readmost's RCU makes "
    "threads that retire wait once 65,536 objects wait for a reader. A set that has not come about "
    "by the changes made is an error. The shape is that of smr-benchmark and pop_setbench.";

struct mix {
  const char* name;
  unsigned inserts;
  unsigned removals;
};
constexpr mix reads{"reads", 5, 5};
constexpr mix changes{"changes", 50, 50};

struct options {
  std::uint64_t keys = 0;
  unsigned inserts = 0;
  unsigned removals = 0;

  void add_to(CLI::App& app) {
    bench::add_option(app, "--keys", keys, "Keys are from 1 to this number; 0: as above",
                      bench::limits{std::uint64_t{0}, std::uint64_t{1} << 31});
    bench::add_option(app, "--inserts", inserts, "In 100 operations, of one more mix",
                      bench::limits{0U, 100U});
    bench::add_option(app, "--removals", removals, "The same", bench::limits{0U, 100U});
  }

  std::vector<mix> mixes() const {
    if (inserts + removals > 100) {
      throw std::runtime_error("--inserts and --removals are more than 100 together");
    }
    std::vector<mix> all{reads, changes};
    if (inserts + removals != 0) all.push_back({"the mix given", inserts, removals});
    return all;
  }
};

class measurement {
 public:
  measurement(const bench::structure_maker& structure, std::uint64_t range, const mix& of,
              std::chrono::nanoseconds time, bench::figures& found)
      : name_(structure.name),
        mix_(of),
        range_(range),
        time_(time),
        found_(found),
        set_(structure.make(range)),
        all_(set_->fill(range)) {}

  void at_rest(unsigned threads) {
    set_->settle();
    measure(threads, "");
  }

  void with_stalled_reader(unsigned threads) {
    std::atomic<bool> over{false};
    std::atomic<bool> inside{false};
    set_->settle();
    std::thread reader([&] { set_->stall(over, inside); });
    while (!inside) std::this_thread::yield();
    measure(threads, ", a reader stands still");
    over = true;
    reader.join();
  }

  void check() {
    set_->settle();
    if (std::string fault = set_->fault(all_); !fault.empty()) throw std::runtime_error(fault);
  }

 private:
  void measure(unsigned threads, const char* beside) {
    using clock = std::chrono::steady_clock;
    std::mutex adding;
    std::int64_t most = 0;
    double per_second = 0;
    const std::int64_t before = bench::waiting_objects::number();
    {
      const bench::set_workload load{range_, mix_.inserts, mix_.removals};
      const bench::workers working(threads, [&](const std::atomic<bool>& stopped, unsigned number,
                                                std::atomic<std::uint64_t>& done) {
        const bench::set_result result = set_->use(stopped, number, load, done);
        const std::lock_guard guard(adding);
        all_.inserted += result.inserted;
        all_.removed += result.removed;
        all_.sum += result.sum;
      });
      const std::uint64_t done = working.done();
      const auto begin = clock::now();
      while (clock::now() - begin < time_) {
        std::this_thread::sleep_for(500us);
        most = std::max(most, bench::waiting_objects::number() - before);
      }
      const std::chrono::duration<double> lasted = clock::now() - begin;
      per_second = static_cast<double>(working.done() - done) / lasted.count();
    }
    const std::string what = fmt::format("{}, {}{}", name_, mix_.name, beside);
    found_.point(what, threads, "more", "operations per second", per_second);
    found_.point(what + ": waiting", threads, "neither", "bytes",
                 static_cast<double>(most) * static_cast<double>(set_->bytes_of_node()));
  }

  std::string name_;
  mix mix_;
  std::uint64_t range_;
  std::chrono::nanoseconds time_;
  bench::figures& found_;
  std::unique_ptr<bench::lock_free_set> set_;
  bench::set_result all_;
};

void measure(const bench::reclamation_policy& policy, const options& given, bench::effort chosen,
             bench::figures& found) {
  for (const auto& structure : policy.structures) {
    const std::uint64_t keys = given.keys >= 2 ? given.keys : structure.usual_range;
    for (const mix& each : given.mixes()) {
      measurement of(structure, keys, each, chosen.point(100ms), found);
      const auto counts = chosen.counts(bench::thread_counts());
      for (const unsigned threads : counts) of.at_rest(threads);
      for (const unsigned threads : counts) of.with_stalled_reader(threads);
      of.check();
    }
  }
}

const bench::registration here("reclamation_stress", [] {
  return bench::benchmark_of<options>(description, bench::all_reclamation_policies(), measure);
});

}  // namespace
