// SPDX-License-Identifier: Apache-2.0
// liburcu's structures, declared again so that the library is built without liburcu's headers.
// tests/urcu compares them with the real ones.
#pragma once

struct rcu_head;
struct urcu_atfork;

namespace readmost::detail::urcu {

// struct urcu_atfork.
struct atfork {
  void (*before_fork)(void* priv);
  void (*after_fork_parent)(void* priv);
  void (*after_fork_child)(void* priv);
  void* priv;
};

// struct urcu_gp_poll_state.
struct poll_state {
  unsigned long grace_period_id;
};

// struct rcu_head: the queue's node, then the function.
struct head {
  void* next;
  void (*func)(rcu_head* head);
};

// struct rcu_flavor_struct. liburcu before 0.14 lacks the last two members and does not access
// them, so one object serves all versions.
struct flavor {
  void (*read_lock)();
  void (*read_unlock)();
  int (*read_ongoing)();
  void (*read_quiescent_state)();
  void (*update_call_rcu)(rcu_head* head, void (*func)(rcu_head* head));
  void (*update_synchronize_rcu)();
  void (*update_defer_rcu)(void (*function)(void* p), void* p);
  void (*thread_offline)();
  void (*thread_online)();
  void (*register_thread)();
  void (*unregister_thread)();
  void (*barrier)();
  void (*register_rculfhash_atfork)(urcu_atfork* hook);
  void (*unregister_rculfhash_atfork)(urcu_atfork* hook);
  poll_state (*update_start_poll_synchronize_rcu)();
  bool (*update_poll_state_synchronize_rcu)(poll_state state);
};

}  // namespace readmost::detail::urcu
