// SPDX-License-Identifier: Apache-2.0
// The headers in the C++ standard that liburcu's users may have.
#include <readmost/urcu.h>
// Repeated inclusion must have no effect, nor may including the headers that they replace.
#include <readmost/urcu.h>
#include <readmost/urcu_flavor.h>
#include <urcu-bp.h>
#include <urcu.h>
#include <urcu/rculfhash.h>

extern cds_lfht* table;
cds_lfht* table = nullptr;

int read_it(int* const& current) {
  rcu_read_lock();
  const int value = *rcu_dereference(current);
  rcu_read_unlock();
  return value;
}

void make_table() {
  table = cds_lfht_new(1, 1, 0, CDS_LFHT_AUTO_RESIZE, nullptr);
}
