// SPDX-License-Identifier: Apache-2.0
#include "speed.hpp"

#include <fmt/format.h>

#include <readmost/detail/platform/platform.hpp>

#include "engine/explore.hpp"

namespace readmost::model {

namespace {

// Two threads that each store one variable and load the other's.
void store_buffering(scenario& s) {
  auto& x = s.make<platform::atomic<int>>("x");
  auto& y = s.make<platform::atomic<int>>("y");
  s.thread("left", [&] {
    x.store(1, platform::release);
    y.load(platform::acquire);
  });
  s.thread("right", [&] {
    y.store(1, platform::release);
    x.load(platform::acquire);
  });
}

// Three threads that count by compare-and-swap: enough executions to time an exhaustive search.
void counting(scenario& s) {
  auto& x = s.make<platform::atomic<int>>("x");
  for (const char* name : {"first", "second", "third"}) {
    s.thread(name, [&] {
      for (int i = 0; i < 2; ++i) {
        int seen = x.load(platform::acquire);
        x.compare_exchange_strong(seen, seen + 1, platform::acq_rel, platform::acquire);
      }
    });
  }
}

}  // namespace

int measure_speed() {
  for (const memory_model memory : memory_models) {
    exploration how;
    how.memory = memory;
    how.search = search_kind::random;
    how.runs = 1'000'000;
    const result drawn = explore(store_buffering, how);
    how.search = search_kind::exhaustive;
    const result all = explore(counting, how);
    const auto rate = [](const result& of) {
      return static_cast<double>(of.executions + of.abandoned) / of.seconds;
    };
    fmt::print(
        "{:3}  store buffering, at random: {:.0f} executions per second; counting, exhaustively "
        "({}): {:.0f}\n",
        name_of(memory), rate(drawn), all.executions + all.abandoned, rate(all));
  }
  return 0;
}

}  // namespace readmost::model
