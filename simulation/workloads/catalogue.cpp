// SPDX-License-Identifier: Apache-2.0
#include "simulation/named.hpp"
#include "simulation/workloads/families.hpp"

namespace readmost::simulation {

const std::vector<workload>& all_workloads() {
  static const std::vector<workload> all{
      {"pairs", "all threads lock and unlock for reading (FCP Table 3)", "", pairs},
      {"write-pairs", "all threads lock and unlock for writing (FCP Table 3)", "", write_pairs},
      {"first-reads", "all threads read locks that nobody has locked before", "", first_reads},
      {"mix", "all threads read, and write one time in --writes-in; one of --among locks", "", mix},
      {"rcu-mix",
       "the same under RCU: a write takes a mutex and retires an object, one time in --writes-in",
       "rcu", rcu_mix},
      {"rwbench", "RWBench (BRAVO Fig. 4): one write in --writes-in", "", rwbench},
      {"test-rwlock", "test_rwlock (BRAVO Fig. 3): one thread writes, the others read", "",
       test_rwlock},
      {"alternator", "the alternator (BRAVO Fig. 2): threads read by turns", "", alternator},
      {"thread-churn", "threads that read 20 times and end; others take their place", "",
       thread_churn},
      {"hash-table",
       "all threads search a hash table, and change it one time in --writes-in (RCU Figs. 2, 27)",
       "", hash_table},
      {"rcu-hash-table", "all threads search an rcu_hash_map, and change it (RCU Figs. 6, 27)",
       "rcu", rcu_hash_table},
      {"hash-table-bench",
       "hash_table_bench (BRAVO Fig. 6): one thread inserts, one erases, the others search", "",
       hash_table_bench},
      {"writer-latency",
       "one thread writes every --between cycles, the others read (FCP Table 3, Fig. 21)", "",
       writer_latency},
      {"sleeping-readers",
       "the same, and every other reader sleeps inside for 20,000 cycles (FCP Fig. 20)", "",
       sleeping_readers},
      {"wake-up", "one thread writes for long while the others come to read (FCP Fig. 19)", "",
       wake_up},
      {"long-writes",
       "one thread writes for --inside cycles without a pause, the others read every --pause", "",
       long_writes},
      {"long-reads",
       "one thread reads for --inside cycles without a pause, the others write every --pause", "",
       long_reads},
      {"grace-period", "one thread waits for grace periods of RCU, the others read (FCP Fig. 17)",
       "rcu", grace_period},
      {"callbacks", "all threads read under RCU, and retire an object one time in --writes-in",
       "rcu", callbacks},
      {"staleness", "one thread stores, the others read what is older (FCP Fig. 1)", "memory",
       staleness},
  };
  return all;
}

const workload& find_workload(const std::string& name) {
  return find_named(all_workloads(), name, "workload");
}

}  // namespace readmost::simulation
