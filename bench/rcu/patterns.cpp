// SPDX-License-Identifier: Apache-2.0
// The programs of the RCU patterns (RCU 4; examples/rcu/), before and after.
#include <fmt/core.h>

#include "examples/rcu/form.hpp"
#include "harness/benchmark.hpp"
#include "harness/timed_run.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Operations per second of the program of each RCU pattern (docs/patterns/), in the form before "
    "the pattern is applied and after it, by number of threads, with 1 write in 1000 operations "
    "and "
    "with 1 in 10. For Stall Updates: reads beside one thread that updates without a pause. A "
    "value "
    "that is out of date, half written or lost is an error.";

struct form_name {
  std::string name;
  bool is_after;
};

constexpr unsigned no_writes = 0;
constexpr unsigned writes_only = 1;

// Does `at_once` operations between two looks whether the time is over.
bench::timed_body body(examples::form& of, unsigned thread, unsigned writes_per, unsigned at_once,
                       std::atomic<std::uint64_t>& writes) {
  return [&of, thread, writes_per, at_once, &writes](const std::atomic<bool>& stopped) {
    examples::xorshift random{thread};
    std::uint64_t done = 0;
    std::uint64_t written = 0;
    while (!stopped.load(std::memory_order_relaxed)) {
      written += of.operate(random, writes_per, at_once);
      done += at_once;
    }
    writes += written;
    return done;
  };
}

// One run of a pattern's program in a form.
class run {
 public:
  run(const examples::pattern& of, bool is_after) : form_(of.make(is_after)) {}

  void add_thread(unsigned writes_per, unsigned at_once = 100) {
    const auto number = static_cast<unsigned>(bodies_.size());
    bodies_.push_back(body(*form_, number, writes_per, at_once, writes_));
  }
  bench::timed_outcome during(std::chrono::nanoseconds time) {
    auto outcome = bench::run_together(std::move(bodies_), time);
    form_->check(outcome.total() - writes_, writes_);
    return outcome;
  }

 private:
  std::unique_ptr<examples::form> form_;
  std::atomic<std::uint64_t> writes_{0};
  std::vector<bench::timed_body> bodies_;
};

void measure_mixed(const examples::pattern& of, bool is_after, unsigned writes_per,
                   bench::effort chosen, bench::figures& found) {
  for (const unsigned threads : chosen.counts({1, 2})) {
    run one(of, is_after);
    for (unsigned i = 0; i < threads; ++i) one.add_thread(writes_per);
    const auto outcome = one.during(chosen.point(100ms));
    found.point(fmt::format("{}, 1 write in {}", of.title, writes_per), threads, "more",
                "operations per second", outcome.per_second(outcome.total()));
  }
}

void measure_beside_writer(const examples::pattern& of, bool is_after, bench::effort chosen,
                           bench::figures& found) {
  for (const unsigned readers : chosen.counts({1, 2})) {
    run one(of, is_after);
    one.add_thread(writes_only);
    // One by one: a reader that starves reads no more once the writer has stopped.
    for (unsigned i = 0; i < readers; ++i) one.add_thread(no_writes, 1);
    const auto outcome = one.during(chosen.point(100ms));
    found.point(fmt::format("{}, reads", of.title), readers, "more", "reads per second",
                outcome.per_second(outcome.sum(1, 1 + readers)));
    found.point(fmt::format("{}, updates meanwhile", of.title), readers, "neither",
                "updates per second", outcome.per_second(outcome.sum(0, 1)));
  }
}

void measure(const form_name& form, bench::effort chosen, bench::figures& found) {
  for (const examples::pattern& each : examples::all_patterns()) {
    if (each.has_busy_writer) {
      measure_beside_writer(each, form.is_after, chosen, found);
    } else {
      for (const unsigned writes_per : {1000U, 10U}) {
        measure_mixed(each, form.is_after, writes_per, chosen, found);
      }
    }
  }
}

const bench::registration here("rcu_patterns", [] {
  return bench::benchmark_of(description,
                             std::vector<form_name>{{"after", true}, {"before", false}}, measure);
});

}  // namespace
