// SPDX-License-Identifier: Apache-2.0
/* A flavor whose grace periods end at once: torture.c must detect it. */
#pragma once

#include <readmost/urcu.h>

static inline void broken_synchronize_rcu(void) {}

static inline void broken_call_rcu(struct rcu_head* head, void (*function)(struct rcu_head* head)) {
  function(head);
}

static inline void broken_defer_rcu(void (*function)(void* p), void* p) {
  function(p);
}

static inline bool broken_poll_state_synchronize_rcu(struct urcu_gp_poll_state state) {
  (void)state;
  return true;
}

#undef synchronize_rcu
#define synchronize_rcu broken_synchronize_rcu
#undef call_rcu
#define call_rcu broken_call_rcu
#undef defer_rcu
#define defer_rcu broken_defer_rcu
#undef poll_state_synchronize_rcu
#define poll_state_synchronize_rcu broken_poll_state_synchronize_rcu
