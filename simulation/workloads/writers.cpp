// SPDX-License-Identifier: Apache-2.0
// A writer now and then among readers; threads that stay inside for long.
#include "simulation/workloads/experiment.hpp"
#include "simulation/workloads/families.hpp"

namespace readmost::simulation {

namespace {

// A thread that writes every so often, and readers, each of which repeats read(its number).
template <class Read>
measurement one_among_readers(scene& at, const workload_options& how, Read read) {
  at.run.add_thread("writer", [&] {
    at.run.pause(how.between_writes);
    at.write(cycles_inside);
  });
  for (unsigned i = 1; i < how.threads; ++i) {
    at.run.add_thread(numbered("reader", i), [&, i] {
      read(i);
      at.run.pause(cycles_inside);
    });
  }
  return at.run.run();
}

// A thread is inside again and again, each time for long; the others come now and then.
template <class Stay, class Visit>
measurement one_stays_inside(scene& at, const workload_options& how, Stay stay, Visit visit) {
  at.run.add_thread("holder", stay);
  for (unsigned i = 1; i < how.threads; ++i) {
    at.run.add_thread(numbered("visitor", i), [&] {
      at.run.pause(how.pause);
      visit();
    });
  }
  return at.run.run();
}

}  // namespace

measurement writer_latency(const machine_description& on, const contender& with,
                           const workload_options& how) {
  scene at(on, with, how);
  return one_among_readers(at, how, [&](unsigned) { at.read(cycles_inside); });
}

// The same; every other reader sleeps inside, or as many as are asked for.
measurement sleeping_readers(const machine_description& on, const contender& with,
                             const workload_options& how) {
  constexpr duration asleep = 20'000;
  scene at(on, with, how);
  return one_among_readers(at, how, [&](unsigned reader) {
    at.read_while([&] {
      at.run.pause(cycles_inside);
      const bool sleeps = how.asleep ? reader <= *how.asleep : reader % 2 == 0;
      if (sleeps) at.run.on().sleep_until(at.run.on().now() + at.run.cycles(asleep));
    });
  });
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

measurement long_writes(const machine_description& on, const contender& with,
                        const workload_options& how) {
  scene at(on, with, how);
  return one_stays_inside(at, how, [&] { at.write(how.inside); }, [&] { at.read(cycles_inside); });
}

measurement long_reads(const machine_description& on, const contender& with,
                       const workload_options& how) {
  scene at(on, with, how);
  return one_stays_inside(at, how, [&] { at.read(how.inside); }, [&] { at.write(cycles_inside); });
}

}  // namespace readmost::simulation
