// SPDX-License-Identifier: Apache-2.0
// Threads that read and write in turn, as the benchmarks of BRAVO do.
#include <deque>
#include <functional>
#include <readmost/detail/platform/platform.hpp>
#include <vector>

#include "simulation/workloads/experiment.hpp"
#include "simulation/workloads/families.hpp"

namespace readmost::simulation {

namespace platform = detail::platform;

namespace {

// Of --writes-in operations one writes, at random; or, with --reads-in, all but one of so many.
void operate(scene& at, simulated_lock& with, const workload_options& how, duration inside) {
  const std::uint64_t drawn = at.run.on().random();
  if (how.reads_in != 0 ? drawn % how.reads_in != 0 : drawn % how.writes_in == 0) {
    at.write(inside, with);
  } else {
    at.read(inside, with);
  }
}

}  // namespace

measurement mix(const machine_description& on, const contender& with, const workload_options& how) {
  std::deque<lock_in_use> locks;
  for (unsigned i = 0; i < how.among; ++i) locks.emplace_back(with);
  return by_all(on, with, how, [&](scene& at) {
    simulated_lock& one = locks[how.among == 1 ? 0 : at.run.on().random() % how.among].get();
    operate(at, one, how, how.inside);
    at.run.pause(how.pause);
  });
}

measurement rwbench(const machine_description& on, const contender& with,
                    const workload_options& how) {
  constexpr duration step = 8;  // of the random-number generator
  return by_all(on, with, how, [&](scene& at) {
    operate(at, at.lock.get(), how, 10 * step);
    at.run.pause(at.run.on().random() % 200 * step);
  });
}

measurement test_rwlock(const machine_description& on, const contender& with,
                        const workload_options& how) {
  scene at(on, with, how);
  at.run.add_thread("writer", [&] {
    at.write(10);
    at.run.pause(1000);
  });
  for (unsigned i = 1; i < how.threads; ++i) {
    at.run.add_thread(numbered("reader", i), [&] { at.read(10); });
  }
  return at.run.run();
}

measurement alternator(const machine_description& on, const contender& with,
                       const workload_options& how) {
  struct alignas(128) place {
    platform::atomic<std::uint64_t> turn{0};
  };
  scene at(on, with, how);
  std::vector<place> ring(how.threads);
  ring.front().turn.store(1, platform::relaxed);
  const bool polite = how.threads > on.cpus();
  for (unsigned i = 0; i < how.threads; ++i) {
    at.run.add_thread(numbered("thread", i), [&, i] {
      std::uint64_t turn = 0;
      while ((turn = ring[i].turn.load(platform::acquire)) == 0) {
        if (at.run.is_over()) return;
        polite ? at.run.on().yield() : at.run.on().relax();
      }
      ring[i].turn.store(0, platform::relaxed);
      at.read(1);
      ring[(i + 1) % how.threads].turn.store(turn + 1, platform::release);
    });
  }
  return at.run.run();
}

// As many threads at a time as are asked for; each reads some times and ends.
measurement thread_churn(const machine_description& on, const contender& with,
                         const workload_options& how) {
  constexpr unsigned reads = 20;
  scene at(on, with, how);
  const std::function<void()> live = [&] {
    for (unsigned i = 0; i < reads; ++i) {
      at.read(cycles_inside);
      at.run.pause(cycles_inside);
    }
    if (!at.run.is_over()) at.run.add_brief_thread("thread", live);
  };
  for (unsigned i = 0; i < how.threads; ++i) at.run.add_brief_thread("thread", live);
  return at.run.run();
}

}  // namespace readmost::simulation
