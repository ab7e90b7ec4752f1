// SPDX-License-Identifier: Apache-2.0
// Readmost's RCU in C++, where there is any.
#pragma once

#if __cplusplus >= 202002L

#include <atomic>
#include <readmost/rcu.hpp>
#include <readmost/rcu_hash_map.hpp>
#include <readmost/rcu_list.hpp>
#include <readmost/rcu_pointer.hpp>

template class readmost::rcu_hash_map<int, int>;

inline int value_of(const std::atomic<int*>& source) {
  const readmost::rcu_reader section;
  return *readmost::rcu_dereference(source);
}

inline void replace(std::atomic<int*>& destination, int* fresh) {
  int* const old = destination.load();
  readmost::rcu_assign_pointer(destination, fresh);
  readmost::rcu_retire(old);
  readmost::rcu_synchronize();
  readmost::rcu_barrier();
}

#endif
