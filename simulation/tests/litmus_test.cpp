// SPDX-License-Identifier: Apache-2.0
// Litmus tests of the machine's memory orders: what a weak order allows does happen, and what the
// orders of the accesses forbid never does.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <readmost/detail/platform/platform.hpp>
#include <vector>

#include "simulation/machine.hpp"

namespace readmost::simulation {
namespace {

namespace platform = readmost::detail::platform;
using platform::acquire;
using platform::relaxed;
using platform::release;
using platform::seq_cst;
using std::memory_order;

machine_description four_cpus(access_order order) {
  machine_description on;
  on.order = order;
  on.ghz = 1;
  on.cores_per_cluster = 4;
  on.hit = on.transfer[0] = 1'000;
  on.store = on.drain = 1'000;
  on.complete = 5'000;
  for (unsigned i = 1; i < distances; ++i) on.transfer[i] = 100'000;
  on.memory = 100'000;
  on.kept = 0.9;
  on.window = 50'000;
  on.atomic = on.fence = 20'000;
  on.acquire = 1'000;
  on.release = 5'000;
  on.buffer_entries = 8;
  on.fill_buffers = 4;
  on.relax = on.clock = 10'000;
  on.time_slice = 100'000'000;
  return on;
}

struct alignas(128) cell {
  platform::atomic<std::uint32_t> value{0};
};

struct scene {
  cell& x;
  cell& y;
  std::array<std::uint32_t, 4>& saw;
};
// What a thread does first, so that its CPU has lines or has not, and what it does then.
struct part {
  std::function<void(scene)> before;
  std::function<void(scene)> then;
};
using outcome = std::array<std::uint32_t, 4>;

// Whether the threads, begun a little after one another in all ways, ever see that.
bool ever(access_order order, const std::vector<part>& parts,
          const std::function<bool(const outcome&)>& seen) {
  constexpr unsigned steps = 13;
  constexpr duration step = 17'000;
  unsigned ways = 1;
  for (std::size_t i = 1; i < parts.size(); ++i) ways *= steps;
  for (unsigned way = 0; way < ways; ++way) {
    machine on(four_cpus(order), 1);
    const auto make = [&]() -> cell& { return *new (on.memory().take(sizeof(cell), 128)) cell(); };
    cell& x = make();
    cell& y = make();
    outcome saw{};
    unsigned rest = way;
    for (const part& each : parts) {
      const bool is_first = &each == &parts.front();
      const duration skew = is_first ? steps / 2 * step : rest % steps * step;
      if (!is_first) rest /= steps;
      on.add_thread("thread", [&, skew] {
        if (each.before) each.before({x, y, saw});
        on.sleep_until(20'000'000 + skew);
        each.then({x, y, saw});
      });
    }
    on.run();
    if (seen(saw)) return true;
  }
  return false;
}

void own(cell& which) {
  which.value.fetch_add(0);
}
void copy(cell& which) {
  // After all that own a line have it.
  machine::current()->sleep_until(10'000'000);
  which.value.load(relaxed);
}

// x is the data, y says that it is ready.
std::vector<part> message_passing(
    memory_order stores, memory_order loads, bool writer_lacks_x,
    const std::function<void()>& fence = [] {}) {
  return {{.before =
               [=](scene at) {
                 own(at.y);
                 if (!writer_lacks_x) own(at.x);
               },
           .then =
               [=](scene at) {
                 at.x.value.store(1, relaxed);
                 fence();
                 at.y.value.store(1, stores);
               }},
          {.before = [](scene at) { copy(at.x); },
           .then =
               [=](scene at) {
                 at.saw[0] = at.y.value.load(loads);
                 at.saw[1] = at.x.value.load(relaxed);
               }}};
}
bool missed_the_data(const outcome& saw) {
  return saw[0] == 1 && saw[1] == 0;
}

TEST(litmus_of_arm, message_passing_needs_the_order_of_its_stores) {
  EXPECT_TRUE(ever(access_order::arm, message_passing(relaxed, acquire, true), missed_the_data));
  EXPECT_FALSE(ever(access_order::arm, message_passing(release, acquire, true), missed_the_data));
  EXPECT_FALSE(
      ever(access_order::arm,
           message_passing(relaxed, acquire, true, [] { machine::current()->release_fence(); }),
           missed_the_data));
}

TEST(litmus_of_arm, message_passing_needs_the_order_of_its_loads) {
  EXPECT_TRUE(ever(access_order::arm, message_passing(release, relaxed, false), missed_the_data));
  EXPECT_FALSE(ever(access_order::arm, message_passing(release, acquire, false), missed_the_data));
  std::vector<part> fenced = message_passing(release, relaxed, false);
  fenced[1].then = [](scene at) {
    at.saw[0] = at.y.value.load(relaxed);
    machine::current()->acquire_fence();
    at.saw[1] = at.x.value.load(relaxed);
  };
  EXPECT_FALSE(ever(access_order::arm, fenced, missed_the_data));
}

TEST(litmus_of_tso, message_passing_needs_no_orders) {
  for (const bool writer_lacks_x : {false, true}) {
    EXPECT_FALSE(ever(access_order::tso, message_passing(relaxed, relaxed, writer_lacks_x),
                      missed_the_data));
  }
}

std::vector<part> store_buffering(memory_order order) {
  return {{.before = [](scene at) { own(at.y); },
           .then =
               [=](scene at) {
                 at.x.value.store(1, order);
                 at.saw[0] = at.y.value.load(order);
               }},
          {.before = [](scene at) { own(at.x); },
           .then =
               [=](scene at) {
                 at.y.value.store(1, order);
                 at.saw[1] = at.x.value.load(order);
               }}};
}
bool both_missed(const outcome& saw) {
  return saw[0] == 0 && saw[1] == 0;
}

TEST(litmus_of_arm, store_buffering_needs_sequential_consistency) {
  EXPECT_TRUE(ever(access_order::arm, store_buffering(relaxed), both_missed));
  EXPECT_FALSE(ever(access_order::arm, store_buffering(seq_cst), both_missed));
}

TEST(litmus_of_tso, store_buffering_needs_sequential_consistency) {
  EXPECT_TRUE(ever(access_order::tso, store_buffering(relaxed), both_missed));
  EXPECT_FALSE(ever(access_order::tso, store_buffering(seq_cst), both_missed));
}

// Two write, two read in opposite orders.
std::vector<part> independent_reads(memory_order loads) {
  return {{.before = [](scene at) { own(at.x); },
           .then = [](scene at) { at.x.value.store(1, relaxed); }},
          {.before = [](scene at) { own(at.y); },
           .then = [](scene at) { at.y.value.store(1, relaxed); }},
          {.before = [](scene at) { copy(at.y); },
           .then =
               [=](scene at) {
                 at.saw[0] = at.x.value.load(loads);
                 at.saw[1] = at.y.value.load(loads);
               }},
          {.before = [](scene at) { copy(at.x); },
           .then =
               [=](scene at) {
                 at.saw[2] = at.y.value.load(loads);
                 at.saw[3] = at.x.value.load(loads);
               }}};
}
bool disagree(const outcome& saw) {
  return saw == outcome{1, 0, 1, 0};
}

TEST(litmus_of_arm, readers_disagree_on_independent_writes_only_without_acquire) {
  EXPECT_TRUE(ever(access_order::arm, independent_reads(relaxed), disagree));
  EXPECT_FALSE(ever(access_order::arm, independent_reads(acquire), disagree));
  EXPECT_FALSE(ever(access_order::tso, independent_reads(relaxed), disagree));
}

TEST(litmus_of_arm, one_variable_is_never_read_backwards) {
  const std::vector<part> parts{{.before = [](scene at) { own(at.x); },
                                 .then =
                                     [](scene at) {
                                       at.x.value.store(1, relaxed);
                                       at.x.value.store(2, relaxed);
                                     }},
                                {.before = [](scene at) { copy(at.x); },
                                 .then =
                                     [](scene at) {
                                       at.y.value.load(relaxed);
                                       for (unsigned i = 0; i < 4; ++i)
                                         at.saw[i] = at.x.value.load(relaxed);
                                     }}};
  EXPECT_FALSE(ever(access_order::arm, parts, [](const outcome& saw) {
    return saw[1] < saw[0] || saw[2] < saw[1] || saw[3] < saw[2];
  }));
}

TEST(litmus_of_arm, a_thread_reads_what_it_has_stored) {
  const std::vector<part> parts{{.before = [](scene at) { own(at.y); },
                                 .then = [](scene at) { at.y.value.store(1, relaxed); }},
                                {.before = {}, .then = [](scene at) {
                                   at.x.value.store(1, relaxed);
                                   at.y.value.load(relaxed);
                                   at.saw[0] = at.x.value.load(relaxed);
                                 }}};
  EXPECT_FALSE(ever(access_order::arm, parts, [](const outcome& saw) { return saw[0] != 1; }));
}

}  // namespace
}  // namespace readmost::simulation
