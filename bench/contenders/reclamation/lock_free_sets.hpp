// SPDX-License-Identifier: Apache-2.0
// Sets of keys without locks, under different policies of reclamation, for
// rcu/reclamation_stress.cpp. The virtual use() runs a whole loop, so that inline functions are
// inlined in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace bench {

// Keys are from 1 to `range`; of all operations so many in 100 insert, and as many remove.
struct set_workload {
  std::uint64_t range;
  unsigned inserts;
  unsigned removals;
};

// What changed, to be compared with what is there in the end.
struct set_result {
  std::uint64_t inserted = 0;
  std::uint64_t removed = 0;
  std::uint64_t sum = 0;  // of inserted keys, less that of removed ones, modulo 2 to the 64th
};

class lock_free_set {
 public:
  virtual ~lock_free_set() = default;

  // Inserts every other key.
  virtual set_result fill(std::uint64_t range) = 0;
  // Works until it is stopped; stores the number of operations so far in `operations`. For any
  // number of threads at once.
  virtual set_result use(const std::atomic<bool>& stopped, std::uint64_t seed,
                         const set_workload& load, std::atomic<std::uint64_t>& operations) = 0;
  // A reader that stays inside one operation, and protects a node, from when it sets `inside` until
  // it is stopped.
  virtual void stall(const std::atomic<bool>& stopped, std::atomic<bool>& inside) = 0;

  // Reclaims all that is retired, while no other thread uses a set of this policy.
  virtual void settle() = 0;
  // Describes a fault if the set, which is at rest, has not come about by these changes.
  virtual std::string fault(const set_result& changes) const = 0;
  virtual std::size_t bytes_of_node() const = 0;
};

struct structure_maker {
  std::string name;           // for tables: "List", "Map", "Tree" or "Skip list"
  std::uint64_t usual_range;  // of keys
  std::unique_ptr<lock_free_set> (*make)(std::uint64_t range);
};

struct reclamation_policy {
  std::string name;
  std::vector<structure_maker> structures;
  bool protects_each;  // a reader that stays inside keeps only the nodes that it protects
};

// All policies that the build found; Readmost's first.
std::vector<reclamation_policy> all_reclamation_policies();

reclamation_policy liburcu_policy();
reclamation_policy xenium_policy();
reclamation_policy xenium_hazard_policy();

}  // namespace bench
