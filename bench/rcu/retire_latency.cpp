// SPDX-License-Identifier: Apache-2.0
// How soon retired objects are reclaimed, beside liburcu's call_rcu.
#include <atomic>

#include "harness/benchmark.hpp"
#include "rcu/background_readers.hpp"

namespace {

using bench::clock;
using namespace std::chrono_literals;

constexpr const char* description =
    "From retire (call_rcu) to the deleter (callback), one object at a time, and how long "
    "rcu_barrier takes: nanoseconds, median, 99th percentile and maximum, one call of the clock "
    "(clock_ns) included. With no reader and with one that reads without a pause. Readmost without "
    "laziness (rcu_limit_laziness).";

class measurement {
 public:
  measurement(bench::rcu_flavor& rcu, bench::effort chosen, bench::figures& found)
      : rcu_(rcu), chosen_(chosen), found_(found), member_(rcu) {}

  void measure_all(const std::string& readers) {
    measure("Retire to deleter, " + readers, [this] { return retire_one(); });
    measure("rcu_barrier after 1 object, " + readers, [this] { return barrier_after(1); });
    measure("rcu_barrier after 1000 objects, " + readers, [this] { return barrier_after(1000); });
  }

  void with_hot_reader() {
    bench::hot_readers reader(rcu_, *cell_, 1);
    measure_all("a reader without a pause");
  }

 private:
  clock::duration retire_one() {
    // Lets the reclaiming thread fall asleep again.
    rcu_.pause();
    std::this_thread::sleep_for(100us);
    rcu_.resume();
    reclaimed_ = never;
    const auto asked = clock::now();
    rcu_.retire(&tell_);
    rcu_.pause();
    reclaimed_.wait(never);
    rcu_.resume();
    return reclaimed_.load() - asked;
  }

  clock::duration barrier_after(unsigned objects) {
    for (unsigned i = 0; i < objects; ++i) rcu_.retire(nullptr);
    const auto asked = clock::now();
    rcu_.barrier();
    return clock::now() - asked;
  }

  template <class Once>
  void measure(const std::string& table, Once once) {
    // The first calls start the reclaiming thread.
    for (int i = 0; i < 2; ++i) once();
    bench::percentiles latencies;
    const auto over = clock::now() + chosen_.time(1s);
    for (unsigned i = 0; i < chosen_.times(5'000) && (i < 3 || clock::now() < over); ++i) {
      latencies.add(once());
    }
    rcu_.barrier();  // no thread runs tell_ any more
    found_.latency(table, latencies);
  }

  bench::rcu_flavor& rcu_;
  bench::effort chosen_;
  bench::figures& found_;
  bench::filled_cell cell_;
  const bench::user_of<bench::rcu_flavor> member_;

  static constexpr clock::time_point never{};
  std::atomic<clock::time_point> reclaimed_{never};
  std::function<void()> tell_ = [this] {
    reclaimed_ = clock::now();
    reclaimed_.notify_one();
  };
};

void measure(bench::rcu_flavor& rcu, bench::effort chosen, bench::figures& found) {
  rcu.hurry();
  measurement of(rcu, chosen, found);
  of.measure_all("no reader");
  of.with_hot_reader();
}

const bench::registration here("retire_latency", [] {
  return bench::benchmark_of(description, bench::all_rcu_flavors(), measure);
});

}  // namespace
