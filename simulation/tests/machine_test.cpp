// SPDX-License-Identifier: Apache-2.0
// The machine: memory order, time, scheduling, futexes, membarriers.
#include "simulation/machine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <readmost/detail/platform/platform.hpp>

namespace readmost::simulation {
namespace {

namespace platform = readmost::detail::platform;

machine_description two_cpus() {
  machine_description on;
  on.ghz = 1;
  on.cores_per_cluster = 2;
  on.hit = on.transfer[0] = 1'000;
  on.store = 1'000;
  for (unsigned i = 1; i < distances; ++i) on.transfer[i] = 100'000;
  on.memory = 100'000;
  on.atomic = 20'000;
  on.fence = 20'000;
  on.buffer_entries = 8;
  on.fill_buffers = 4;
  on.drain = 1'000;
  on.relax = on.clock = 10'000;
  on.interrupt_send = on.interrupt_take = on.interrupt_handle = 200'000;
  on.system_call = 100'000;
  on.futex_wait = on.futex_wake = 500'000;
  on.wake_up = 2'000'000;
  on.switch_threads = 1'000'000;
  on.time_slice = 100'000'000;
  return on;
}

// The variables of one run, in the machine's memory.
template <class T>
T& make(machine& on) {
  return *new (on.memory().take(sizeof(T), 128)) T();
}
struct alignas(64) cell {
  platform::atomic<std::uint32_t> value{0};
};

void bring_in(cell& which) {
  which.value.fetch_add(0);
}

// Runs threads that each add 1 to the sum so often.
void add_up(machine& on, cell& sum, unsigned threads, unsigned each) {
  for (unsigned i = 0; i < threads; ++i) {
    on.add_thread("adder", [&sum, each] {
      for (unsigned n = 0; n < each; ++n) sum.value.fetch_add(1);
    });
  }
  on.run();
}

// Two threads that each store and then load what the other stores; returns whether both missed the
// other's store in some round.
template <class Fence, class OtherFence>
bool both_miss(Fence fence, OtherFence other_fence) {
  bool missed = false;
  for (unsigned skew = 0; skew < 40 && !missed; ++skew) {
    machine on(two_cpus(), 1);
    cell& one = make<cell>(on);
    cell& two = make<cell>(on);
    bool first_missed = false;
    bool second_missed = false;
    on.add_thread("first", [&] {
      bring_in(two);
      on.sleep_until(20'000'000);
      one.value.store(1, platform::relaxed);
      fence();
      first_missed = two.value.load(platform::relaxed) == 0;
    });
    on.add_thread("second", [&] {
      bring_in(one);
      on.sleep_until(20'000'000 + skew * 10'000);
      two.value.store(1, platform::relaxed);
      other_fence();
      second_missed = one.value.load(platform::relaxed) == 0;
    });
    on.run();
    missed = first_missed && second_missed;
  }
  return missed;
}

void no_fence() {}
void full_fence() {
  machine::current()->fence();
}

[[gnu::noinline]] void store_on_the_stack() {
  platform::variable<std::uint64_t> plain[4];
  for (auto& each : plain) each = ~std::uint64_t{0};
}

[[gnu::noinline]] bool stack_stays_as_it_is(machine& on) {
  volatile std::uint64_t there[32] = {};
  on.work(1'000'000);
  for (const auto& each : there) {
    if (each != 0) return false;
  }
  return true;
}

TEST(simulated_memory, changes_no_stack_whose_variables_are_gone) {
  machine on(two_cpus(), 1);
  bool stayed = false;
  on.add_thread("only", [&] {
    store_on_the_stack();
    stayed = stack_stays_as_it_is(on);
  });
  on.run();
  EXPECT_TRUE(stayed);
}

TEST(simulated_memory, lets_a_load_pass_an_earlier_store) {
  EXPECT_TRUE(both_miss(no_fence, no_fence));
}

// The time that the only thread of a machine takes for `body`, once what `before` did is settled.
template <class Before, class Body>
duration time_alone(machine& on, Before before, Body body) {
  duration took = 0;
  on.add_thread("alone", [&] {
    before();
    on.sleep_until(20'000'000);
    const instant start = on.now();
    body();
    took = on.now() - start;
  });
  on.run();
  return took;
}

// The time of one thread that loads a line of its own so often.
duration time_of_loads(duration beside_access, unsigned loads) {
  machine on(two_cpus(), 1);
  cell& data = make<cell>(on);
  const auto settle = [&] {
    bring_in(data);
    on.self().beside_access = beside_access;
  };
  return time_alone(on, settle, [&] {
    for (unsigned i = 0; i < loads; ++i) data.value.load(platform::relaxed);
  });
}

TEST(simulated_time, of_an_access_has_that_of_the_instructions_beside_it) {
  EXPECT_EQ(time_of_loads(0, 1000), 1000 * two_cpus().hit);
  EXPECT_EQ(time_of_loads(1'700, 1000), 1000 * 1'700U);
}

TEST(simulated_time, of_a_few_instructions_is_that_of_the_access_beside_them) {
  EXPECT_EQ(time_of_loads(700, 1000), 1000 * two_cpus().hit);
}

TEST(simulated_time, of_a_fence_contains_that_of_the_store_before_it) {
  const auto time_of_fence = [](bool stores) {
    machine_description waiting = two_cpus();
    waiting.commit = 9'000;
    machine on(waiting, 1);
    cell& data = make<cell>(on);
    const auto settle = [&] { bring_in(data); };
    return time_alone(on, settle, [&] {
      if (stores) data.value.store(1, platform::relaxed);
      on.fence();
    });
  };
  EXPECT_EQ(time_of_fence(true), time_of_fence(false) + 9'000);
}

// The time from one atomic of a word to the end of the next, with the actions in between.
template <class Between>
duration time_to_next_atomic(Between between, std::memory_order order = platform::seq_cst,
                             access_order of_machine = access_order::tso) {
  machine_description waiting = two_cpus();
  waiting.order = of_machine;
  waiting.window = 1'000'000;
  waiting.complete = 14'000;
  waiting.commit = 9'000;
  machine on(waiting, 1);
  auto& cells = make<std::array<cell, 2>>(on);
  struct alignas(64) pair {
    platform::atomic<std::uint64_t> first{0}, second{0};
  };
  pair& neighbours = make<pair>(on);
  duration took = 0;
  on.add_thread("alone", [&] {
    bring_in(cells[0]);
    bring_in(cells[1]);
    neighbours.first.fetch_add(1);
    neighbours.second.fetch_add(1);
    on.sleep_until(20'000'000);
    neighbours.first.fetch_add(1);
    const instant start = on.now();
    between(neighbours.first, neighbours.second, cells[0].value);
    neighbours.first.fetch_add(1, order);
    took = on.now() - start;
  });
  on.run();
  return took;
}

TEST(simulated_time, of_an_atomic_contains_that_of_a_load_of_what_the_last_one_left) {
  using word = platform::atomic<std::uint64_t>;
  using other = platform::atomic<std::uint32_t>;
  const duration alone = time_to_next_atomic([](word&, word&, other&) {});
  EXPECT_EQ(time_to_next_atomic([](word& same, word&, other&) { same.load(platform::relaxed); }),
            alone + 14'000);
  EXPECT_EQ(time_to_next_atomic([](word&, word& neighbour, other& far) {
              neighbour.load(platform::relaxed);
              far.load(platform::relaxed);
            }),
            alone)
      << "these have run ahead";
}

TEST(simulated_time, of_an_atomic_contains_that_of_the_stores_before_it) {
  using word = platform::atomic<std::uint64_t>;
  using other = platform::atomic<std::uint32_t>;
  const duration alone = time_to_next_atomic([](word&, word&, other&) {});
  const auto store_to_other = [](word&, word&, other& far) { far.store(1, platform::relaxed); };
  const auto store_and_load = [](word& same, word&, other&) {
    same.store(1, platform::relaxed);
    same.load(platform::relaxed);
  };
  EXPECT_EQ(time_to_next_atomic(store_to_other), alone + 9'000);
  EXPECT_EQ(time_to_next_atomic(store_and_load), alone + 9'000) << "the load has what was stored";

  const auto of_arm = [](std::memory_order order, auto between) {
    return time_to_next_atomic(between, order, access_order::arm);
  };
  const auto nothing = [](word&, word&, other&) {};
  EXPECT_EQ(of_arm(platform::relaxed, store_to_other), of_arm(platform::relaxed, nothing));
  EXPECT_EQ(of_arm(platform::release, store_to_other), of_arm(platform::release, nothing) + 9'000);
}

// The time of a load that waits for its line, or of an atomic, and of work after it.
duration time_with_work(bool loads, duration work) {
  machine_description on_machine = two_cpus();
  on_machine.window = 10'000;
  machine on(on_machine, 1);
  cell& far = make<cell>(on);
  const auto nothing = [] {};
  return time_alone(on, nothing, [&] {
    loads ? far.value.load(platform::relaxed) : far.value.fetch_add(1);
    if (work != 0) on.work(work);
  });
}

TEST(simulated_time, of_work_is_beside_that_of_a_load_that_waits_before_it) {
  const duration load = time_with_work(true, 0);
  EXPECT_GE(load, two_cpus().memory);
  EXPECT_EQ(time_with_work(true, 40'000), load);
  EXPECT_EQ(time_with_work(true, 70'000) - time_with_work(true, 50'000), 20'000U)
      << "five times the window";
  EXPECT_EQ(time_with_work(false, 40'000), time_with_work(false, 0) + 30'000)
      << "an atomic is waited for, but for the window";
}

TEST(simulated_time, has_the_usual_instructions_where_none_were_counted) {
  machine_description one = two_cpus();
  one.instruction = 250;
  machine on(one, 1);
  EXPECT_EQ(on.add_thread("any", [] {}).beside_access, 500U);
  on.run();
}

// The time of loads on the first of four CPUs while another one works.
duration time_of_loads_beside(unsigned busy_cpu, unsigned threads_per_core) {
  machine_description four = two_cpus();
  four.threads_per_core = threads_per_core;
  four.cores_per_cluster = 4 / threads_per_core;
  four.instruction = 500;
  four.instruction_beside = 1'000;
  machine on(four, 1);
  cell& data = make<cell>(on);
  duration took = 0;
  for (unsigned cpu = 0; cpu < 4; ++cpu) {
    on.add_thread("any", [&, cpu] {
      if (cpu == busy_cpu) on.work(100'000'000);
      if (cpu != 0) return;
      bring_in(data);
      on.sleep_until(20'000'000);
      const instant start = on.now();
      for (unsigned i = 0; i < 1'000; ++i) data.value.load(platform::relaxed);
      took = on.now() - start;
    });
  }
  on.run();
  return took;
}

TEST(simulated_time, of_instructions_is_longer_while_the_other_cpu_of_the_core_is_busy) {
  const duration alone = 1'000 * (1 + 2) * 500;
  EXPECT_EQ(time_of_loads_beside(1, 2), 2 * alone);
  EXPECT_EQ(time_of_loads_beside(2, 2), alone) << "another core";
  EXPECT_EQ(time_of_loads_beside(1, 1), 2 * alone) << "whatever the system says of neighbours";
  EXPECT_EQ(time_of_loads_beside(2, 1), alone);
}

TEST(simulated_memory, keeps_a_load_behind_a_fence) {
  EXPECT_FALSE(both_miss(full_fence, full_fence));
}

TEST(simulated_memory, keeps_a_load_behind_a_membarrier_of_the_other_thread) {
  EXPECT_FALSE(both_miss(no_fence, [] { machine::current()->membarrier(); }));
}

TEST(simulated_memory, shows_stores_in_their_order) {
  for (unsigned skew = 0; skew < 60; ++skew) {
    machine on(two_cpus(), 1);
    cell& data = make<cell>(on);
    cell& ready = make<cell>(on);
    on.add_thread("writer", [&] {
      on.sleep_until(20'000'000);
      data.value.store(1, platform::relaxed);
      ready.value.store(1, platform::release);
    });
    on.add_thread("reader", [&] {
      bring_in(ready);
      on.sleep_until(20'000'000 + skew * 10'000);
      if (ready.value.load(platform::acquire) != 0) {
        EXPECT_EQ(data.value.load(platform::relaxed), 1U);
      }
    });
    on.run();
  }
}

TEST(simulated_memory, loses_no_update) {
  constexpr unsigned each = 500;
  machine on(two_cpus(), 1);
  cell& sum = make<cell>(on);
  add_up(on, sum, 5, each);
  EXPECT_EQ(value_at(&sum, 4), 5 * each);
  EXPECT_EQ(on.lines().fault(), "");
}

TEST(simulated_memory, of_one_thread_is_as_the_program_says) {
  machine on(two_cpus(), 1);
  cell& number = make<cell>(on);
  on.add_thread("alone", [&] {
    for (std::uint32_t i = 1; i < 100; ++i) {
      number.value.store(i, platform::relaxed);
      EXPECT_EQ(number.value.load(platform::relaxed), i);
    }
  });
  on.run();
}

TEST(simulated_time, of_a_contended_line_is_that_of_its_transfers) {
  constexpr unsigned each = 1000;
  machine on(two_cpus(), 1);
  cell& sum = make<cell>(on);
  add_up(on, sum, 2, each);
  // The owner gets some updates in while the request is on its way, so not each one is a transfer.
  EXPECT_GT(on.now(), 2 * each * 30'000);
  EXPECT_LT(on.now(), 2 * each * 130'000);
}

TEST(simulated_time, of_lines_of_ones_own_does_not_depend_on_other_threads) {
  const auto time_of = [](unsigned threads) {
    machine on(two_cpus(), 1);
    std::vector<cell*> cells;
    for (unsigned i = 0; i < threads; ++i) cells.push_back(&make<cell>(on));
    duration longest = 0;
    for (cell* mine : cells) {
      on.add_thread("adder", [&on, &longest, mine] {
        bring_in(*mine);
        const instant start = on.now();
        for (unsigned n = 0; n < 1000; ++n) mine->value.fetch_add(1);
        longest = std::max(longest, on.now() - start);
      });
    }
    on.run();
    return longest;
  };
  EXPECT_EQ(time_of(1), time_of(2));
}

TEST(simulated_time, of_prefetches_overlaps_as_far_as_there_are_fill_buffers) {
  constexpr unsigned count = 12;  // three times the fill buffers
  const auto time_of = [](bool prefetched) {
    machine on(two_cpus(), 1);
    std::vector<cell*> cells;
    for (unsigned i = 0; i < count; ++i) cells.push_back(&make<cell>(on));
    duration taken = 0;
    on.add_thread("writer", [&] {
      for (cell* each : cells) bring_in(*each);
    });
    on.add_thread("reader", [&] {
      on.sleep_until(50'000'000);
      const instant start = on.now();
      for (cell* each : cells) {
        if (prefetched) platform::prefetch(each);
      }
      for (cell* each : cells) each->value.load(platform::relaxed);
      taken = on.now() - start;
    });
    on.run();
    return taken;
  };
  const duration transfer = two_cpus().transfer[1];
  EXPECT_GE(time_of(false), count * transfer);
  EXPECT_GE(time_of(true), count / 4 * transfer);
  EXPECT_LT(time_of(true), (count / 4 + 1) * transfer);
}

TEST(simulated_time, is_all_accounted_for) {
  machine on(two_cpus(), 1);
  cell& sum = make<cell>(on);
  std::vector<instant> begun(4), ended(4);
  for (unsigned i = 0; i < 4; ++i) {
    on.add_thread("worker", [&, i] {
      for (unsigned n = 0; n < 100; ++n) {
        on.work(1'000'000);
        sum.value.fetch_add(1);
      }
      ended[i] = on.now();
    });
    begun[i] = 0;
  }
  on.run();
  for (unsigned i = 0; i < 4; ++i) {
    duration spent = 0;
    for (const duration each : on.threads()[i].spent) spent += each;
    EXPECT_GE(spent, ended[i] - begun[i]);
    EXPECT_LE(spent, on.now());
    EXPECT_GE(on.threads()[i].spent[static_cast<unsigned>(spending::instructions)], 100'000'000U);
  }
}

TEST(simulated_scheduler, shares_a_cpu_among_threads) {
  machine on(two_cpus(), 1);
  std::vector<instant> ended(6);
  for (unsigned i = 0; i < 6; ++i) {
    on.add_thread("worker", [&, i] {
      on.work(1'000'000'000);
      ended[i] = on.now();
    });
  }
  on.run();
  // Three times the work of each CPU, and no thread far behind.
  EXPECT_GE(on.now(), 3'000'000'000U);
  EXPECT_LT(on.now(), 3'500'000'000U);
  for (const instant each : ended) EXPECT_GT(each, 2'500'000'000U);
}

TEST(simulated_futex, wakes_whom_it_should) {
  machine on(two_cpus(), 1);
  cell& word = make<cell>(on);
  bool woken = false;
  bool timed_out = false;
  on.add_thread("sleeper",
                [&] { woken = on.futex_wait(&word, 0, ~0U, 0, {}) == model::sleep_end::woken; });
  on.add_thread("waker", [&] {
    on.work(50'000'000);
    EXPECT_EQ(on.futex_wake(&word, 5, 2, {}), 1);
    timed_out =
        on.futex_wait(&word, 0, ~0U, on.now() + 1'000'000, {}) == model::sleep_end::timed_out;
  });
  on.run();
  EXPECT_TRUE(woken);
  EXPECT_TRUE(timed_out);
}

struct waking {
  duration call;
  duration until_it_runs;  // from the call
};

// The sleeper's CPU has been idle for so long; or, with `busy`, runs another thread all the time.
waking wake_up_after(duration idle, bool busy, const machine_description& description) {
  machine on(description, 1);
  cell& word = make<cell>(on);
  instant called = 0;
  waking seen{};
  on.add_thread("sleeper", [&] {
    on.work(50'000'000);
    on.futex_wait(&word, 0, ~0U, 0, {});
    seen.until_it_runs = on.now() - called;
  });
  on.add_thread("waker", [&] {
    on.work(60'000'000);  // the other is asleep then
    on.work(idle);
    bring_in(word);
    called = on.now();
    on.futex_wake(&word, 1, ~0U, {});
    seen.call = on.now() - called;
  });
  if (busy) on.add_thread("third", [&] { on.work(idle + 90'000'000); });
  on.run();
  return seen;
}

TEST(simulated_futex, wakes_a_cpu_sooner_that_fell_idle_just_now) {
  machine_description description = two_cpus();
  const waking usual = wake_up_after(100'000'000, false, description);
  EXPECT_EQ(usual.until_it_runs, wake_up_after(1'000'000, false, description).until_it_runs);
  description.wake_up_soon = 300'000;
  description.futex_wake_soon = 200'000;
  const waking soon = wake_up_after(1'000'000, false, description);
  EXPECT_EQ(soon.until_it_runs, usual.until_it_runs - 1'700'000);
  EXPECT_EQ(soon.call, usual.call - 300'000);
  const waking later = wake_up_after(100'000'000, false, description);
  EXPECT_EQ(later.until_it_runs, usual.until_it_runs);
  EXPECT_EQ(later.call, usual.call);
}

TEST(simulated_futex, is_called_without_an_interrupt_where_no_cpu_is_idle) {
  machine_description description = two_cpus();
  const waking usual = wake_up_after(1'000'000, true, description);
  description.futex_wake_busy = 100'000;
  EXPECT_EQ(wake_up_after(1'000'000, true, description).call, usual.call - 400'000);
  EXPECT_EQ(wake_up_after(1'000'000, false, description).call, usual.call);
}

TEST(simulated_futex, does_not_sleep_on_another_value) {
  machine on(two_cpus(), 1);
  cell& word = make<cell>(on);
  on.add_thread("alone",
                [&] { EXPECT_EQ(on.futex_wait(&word, 1, ~0U, 0, {}), model::sleep_end::none); });
  on.run();
}

TEST(simulated_futex, that_nobody_wakes_ends_the_run_with_a_sentence) {
  machine on(two_cpus(), 1);
  cell& word = make<cell>(on);
  on.add_thread("sleeper", [&] { on.futex_wait(&word, 0, ~0U, 0, {}); });
  try {
    on.run();
    ADD_FAILURE();
  } catch (const std::runtime_error& problem) {
    EXPECT_STREQ(problem.what(), "no thread can go on: sleeper sleep");
  }
}

TEST(simulated_membarrier, interrupts_cpus_that_run_threads_alone) {
  machine on(two_cpus(), 1);
  duration alone = 0;
  duration beside = 0;
  on.add_thread("caller", [&] {
    on.sleep_until(10'000'000);
    instant start = on.now();
    on.membarrier();
    alone = on.now() - start;
    on.sleep_until(50'000'000);
    start = on.now();
    on.membarrier();
    beside = on.now() - start;
  });
  on.add_thread("other", [&] {
    on.sleep_until(20'000'000);
    on.work(100'000'000);
  });
  on.run();
  EXPECT_EQ(on.interrupts_sent(), 1U);
  EXPECT_EQ(beside, alone + 600'000);
  EXPECT_GT(on.threads()[1].spent[static_cast<unsigned>(spending::interrupts)], 0U);
}

// A quarter of the time, for 2 ms each.
machine_description on_a_shared_host() {
  machine_description on = two_cpus();
  on.stolen_share = 0.25;
  on.stolen_for = 2'000'000'000;
  return on;
}

TEST(simulated_hypervisor, takes_its_share_of_a_thread_that_works) {
  machine on(on_a_shared_host(), 1);
  constexpr duration work = 2'000'000'000'000;
  on.add_thread("worker", [&] { on.work(work); });
  on.run();
  const duration lost = on.threads()[0].spent[static_cast<unsigned>(spending::interrupts)];
  EXPECT_NEAR(static_cast<double>(lost), work / 3, work / 3 * 0.1);
  EXPECT_GE(on.now(), work + lost);
}

TEST(simulated_hypervisor, keeps_the_interrupt_of_a_membarrier_waiting) {
  machine on(on_a_shared_host(), 1);
  bool is_over = false;
  duration longest = 0;
  unsigned prompt = 0;
  on.add_thread("caller", [&] {
    for (unsigned i = 0; i < 400; ++i) {
      on.work(100'000'000);
      const instant start = on.now();
      on.membarrier();
      longest = std::max(longest, on.now() - start);
      if (on.now() - start < 5'000'000) ++prompt;
    }
    is_over = true;
  });
  on.add_thread("other", [&] {
    while (!is_over) on.work(1'000'000);
  });
  on.run();
  EXPECT_GT(longest, 1'500'000'000U) << "the other CPU was away nearly all that time";
  EXPECT_GT(prompt, 200U);
}

TEST(simulated_hypervisor, delays_a_thread_that_is_woken_on_a_cpu_that_is_away) {
  machine_description always_away = on_a_shared_host();
  always_away.stolen_share = 0.99;
  machine on(always_away, 1);
  duration late = 0;
  on.add_thread("sleeper", [&] {
    for (unsigned i = 0; i < 20; ++i) {
      const instant until = on.now() + 100'000;
      on.sleep_until(until);
      late = std::max(late, on.now() - until);
    }
  });
  on.run();
  EXPECT_GT(late, 1'000'000'000U);
}

TEST(simulated_hypervisor, does_not_hide_that_no_thread_can_go_on) {
  machine on(on_a_shared_host(), 1);
  cell& word = make<cell>(on);
  on.add_thread("sleeper", [&] { on.futex_wait(&word, 0, ~0U, 0, {}); });
  EXPECT_THROW(on.run(), std::runtime_error);
  EXPECT_EQ(machine::current(), nullptr);
}

TEST(simulated_thread, that_throws_ends_the_run) {
  machine on(two_cpus(), 1);
  on.add_thread("thrower", [] { throw std::runtime_error("thrown"); });
  EXPECT_THROW(on.run(), std::runtime_error);
}

}  // namespace
}  // namespace readmost::simulation
