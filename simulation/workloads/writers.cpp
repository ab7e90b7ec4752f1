// A writer now and then among readers.
#include "simulation/workloads/experiment.hpp"
#include "simulation/workloads/families.hpp"

namespace readmost::simulation {

measurement writer_latency(const machine_description& on, const contender& with,
                           const workload_options& how) {
  scene at(on, with, how);
  at.run.add_thread("writer", [&] {
    at.run.pause(how.between_writes);
    at.write(cycles_inside);
  });
  for (unsigned i = 1; i < how.threads; ++i) {
    at.run.add_thread(numbered("reader", i), [&] {
      at.read(cycles_inside);
      at.run.pause(cycles_inside);
    });
  }
  return at.run.run();
}

// The same; every other reader sleeps inside.
measurement sleeping_readers(const machine_description& on, const contender& with,
                             const workload_options& how) {
  constexpr duration asleep = 20'000;
  scene at(on, with, how);
  at.run.add_thread("writer", [&] {
    at.run.pause(how.between_writes);
    at.write(cycles_inside);
  });
  for (unsigned i = 1; i < how.threads; ++i) {
    const bool sleeps = i % 2 == 0;
    at.run.add_thread(numbered("reader", i), [&, sleeps] {
      simulated_lock& lock = at.lock.get();
      at.run.time_around(
          at.run.reads, [&] { lock.lock_shared(); },
          [&] {
            at.run.pause(cycles_inside);
            if (sleeps) at.run.on().sleep_until(at.run.on().now() + at.run.cycles(asleep));
          },
          [&] { lock.unlock_shared(); });
      at.run.pause(cycles_inside);
    });
  }
  return at.run.run();
}

// A writer is inside for long; how long readers that came meanwhile wait after that.
measurement wake_up(const machine_description& on, const contender& with,
                    const workload_options& how) {
  constexpr duration inside = 40'000;
  scene at(on, with, how);
  std::vector<instant> left;  // when each write ended
  at.run.add_thread("writer", [&] {
    simulated_lock& lock = at.lock.get();
    lock.lock();
    at.run.pause(inside);
    left.push_back(at.run.on().now());
    lock.unlock();
    at.run.pause(2 * inside);
  });
  for (unsigned i = 1; i < how.threads; ++i) {
    at.run.add_thread(numbered("reader", i), [&] {
      simulated_lock& lock = at.lock.get();
      const std::size_t before = left.size();
      lock.lock_shared();
      if (left.size() > before) at.run.note(at.run.reads, at.run.on().now() - left[before]);
      lock.unlock_shared();
      at.run.pause(1000);
    });
  }
  return at.run.run();
}

}  // namespace readmost::simulation
