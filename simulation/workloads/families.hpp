// SPDX-License-Identifier: Apache-2.0
// The workloads; catalogue.cpp says what they are.
#pragma once

#include "simulation/workloads/workloads.hpp"

namespace readmost::simulation {

using workload_function = measurement(const machine_description& on, const contender& with,
                                      const workload_options& how);

// --- pairs.cpp
workload_function pairs, write_pairs, first_reads;

// --- mixes.cpp
workload_function mix, rwbench, test_rwlock, alternator, thread_churn;

// --- writers.cpp
workload_function writer_latency, sleeping_readers, wake_up, long_writes, long_reads;

// --- hash_tables.cpp
workload_function hash_table, rcu_hash_table, hash_table_bench;

// --- rcu.cpp
workload_function rcu_mix, grace_period, callbacks, staleness;

}  // namespace readmost::simulation
