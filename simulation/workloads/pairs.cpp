// SPDX-License-Identifier: Apache-2.0
// One operation, repeated.
#include "simulation/workloads/experiment.hpp"
#include "simulation/workloads/families.hpp"

namespace readmost::simulation {

measurement pairs(const machine_description& on, const contender& with,
                  const workload_options& how) {
  return by_all(on, with, how, [](scene& at) { at.read(1); });
}

measurement write_pairs(const machine_description& on, const contender& with,
                        const workload_options& how) {
  return by_all(on, with, how, [](scene& at) { at.write(1); });
}

// Each lock is read once: what a lock costs that a thread has not met.
measurement first_reads(const machine_description& on, const contender& with,
                        const workload_options& how) {
  scene at(on, with, how);
  for (unsigned i = 0; i < how.threads; ++i) {
    at.run.add_thread(numbered("thread", i), [&] {
      simulated_lock& fresh = *with.make();
      at.run.time(at.run.reads, [&] {
        fresh.lock_shared();
        fresh.unlock_shared();
      });
      at.run.pause(1000);
    });
  }
  return at.run.run();
}

}  // namespace readmost::simulation
