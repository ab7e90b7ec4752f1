// SPDX-License-Identifier: Apache-2.0
// RCU, and how soon CPUs see a store without it.
#include <readmost/detail/platform/platform.hpp>
#include <readmost/detail/threads/mutex.hpp>
#include <readmost/rcu.hpp>

#include "simulation/workloads/experiment.hpp"
#include "simulation/workloads/families.hpp"

namespace readmost::simulation {

namespace platform = detail::platform;

namespace {

void read_section(experiment& run, duration inside) {
  run.time_around(
      run.reads, [] { rcu_default_domain().lock(); }, [&] { run.pause(inside); },
      [] { rcu_default_domain().unlock(); });
}

void read_and_pause(experiment& run) {
  read_section(run, cycles_inside);
  run.pause(cycles_inside);
}

void retire_one() {
  struct leave_alone {
    void operator()(char*) const {}
  };
  static char retired;
  rcu_retire(&retired, leave_alone{});
}

}  // namespace

measurement rcu_mix(const machine_description& on, const contender&, const workload_options& how) {
  struct alignas(128) {
    detail::mutex mutex;
  } writers;
  experiment run(on, how);
  for (unsigned i = 0; i < how.threads; ++i) {
    run.add_thread(numbered("thread", i), [&] {
      if (run.on().random() % how.writes_in == 0) {
        run.time_around(
            run.writes, [&] { writers.mutex.lock(); }, [&] { run.pause(how.inside); },
            [&] {
              writers.mutex.unlock();
              retire_one();
            });
      } else {
        read_section(run, how.inside);
      }
      run.pause(how.pause);
    });
  }
  return run.run();
}

measurement grace_period(const machine_description& on, const contender&,
                         const workload_options& how) {
  constexpr duration between = 5'000;
  constexpr duration update = 100;
  experiment run(on, how);
  run.add_thread("updater", [&] {
    for (unsigned i = 0; i < how.batch; ++i) run.pause(update);
    run.time(run.writes, [] { rcu_synchronize(); });
    if (how.batch == 0) run.pause(between);
  });
  for (unsigned i = 1; i < how.threads; ++i) {
    run.add_thread(numbered("reader", i), [&] { read_and_pause(run); });
  }
  return run.run();
}

measurement callbacks(const machine_description& on, const contender&,
                      const workload_options& how) {
  experiment run(on, how);
  for (unsigned i = 0; i < how.threads; ++i) {
    run.add_thread(numbered("thread", i), [&] {
      if (run.on().random() % how.writes_in == 0) {
        run.time(run.writes, retire_one);
      } else {
        read_and_pause(run);
      }
    });
  }
  return run.run();
}

// One thread stores a new version now and then, the others look at random times. What is counted
// are the reads of an older version: how long after the store they come.
measurement staleness(const machine_description& on, const contender&,
                      const workload_options& how) {
  constexpr duration between = 4'000;
  experiment run(on, how);
  struct alignas(128) {
    platform::atomic<std::uint64_t> number{0};
  } version;
  std::uint64_t latest = 0;
  instant stored = 0;
  run.add_thread("writer", [&] {
    run.pause(between);
    stored = run.on().now();
    version.number.store(++latest, platform::relaxed);
  });
  for (unsigned i = 1; i < how.threads; ++i) {
    run.add_thread(numbered("reader", i), [&] {
      run.pause(run.on().random() % 200);
      const std::uint64_t seen = version.number.load(platform::relaxed);
      if (seen < latest) run.note(run.reads, run.on().now() - stored);
    });
  }
  return run.run();
}

}  // namespace readmost::simulation
