// SPDX-License-Identifier: Apache-2.0
// A source in C++ that uses liburcu's names, and since C++20 Readmost's containers beside them.
#if defined(CONTAINERS_FIRST)
#include "containers.hpp"
#endif
#include <readmost/urcu.h>
#if !defined(CONTAINERS_FIRST)
#include "containers.hpp"
#endif
#include <urcu.h>
#include <urcu/rculfhash.h>
#include <urcu/rculist.h>
#include <urcu/wfcqueue.h>

struct element {
  rcu_head head;
  cds_list_head list;
  int value;
};

int sum(cds_list_head* list);
int exchange(element* volatile& current, element* const& constant, element* fresh);

int sum(cds_list_head* list) {
  int all = 0;
  element* each;
  rcu_read_lock();
  cds_list_for_each_entry_rcu(each, list, list) all += each->value;
  rcu_read_unlock();
  return all;
}

int exchange(element* volatile& current, element* const& constant, element* fresh) {
  element* const before = rcu_dereference(current);
  element* plain = rcu_dereference(constant);
  rcu_assign_pointer(current, fresh);
  rcu_assign_pointer(current, NULL);
  rcu_assign_pointer(plain, nullptr);
  plain = fresh;
  synchronize_rcu();
  call_rcu(&before->head, [](rcu_head*) {});
  rcu_barrier();
  void (*const barrier)() = rcu_barrier;
  barrier();
  return plain->value;
}
