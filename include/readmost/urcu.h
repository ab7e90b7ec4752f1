/* The flavor "readmost" of liburcu, in place of <urcu.h> or <urcu-bp.h>: a program that includes
 * this header instead, and is linked with libreadmost instead of liburcu or liburcu-bp, has the
 * same functions by the same names, with grace periods of microseconds and callbacks that need not
 * wait for 10 ms. So does every file that is compiled with `-include readmost/urcu.h`, whichever of
 * the two it includes itself.
 *
 * liburcu's other headers, such as <urcu/rculfhash.h> and <urcu/rculist.h>, are included after this
 * one; they and liburcu-cds work as before. In C++20 read sections are inline, otherwise a call.
 *
 * In the flavor qsbr, threads are inside sections unless they go offline. A program of that flavor
 * may change to this one if it reads only between rcu_read_lock() and rcu_read_unlock().
 *
 * See <readmost/urcu_flavor.h> for the functions.
 */
#pragma once

#if defined(rcu_read_lock)
#error "another flavor of liburcu is in use here already: include <readmost/urcu.h> before it"
#endif

/* liburcu's own switches: the common names stay defined, for its other headers to use, and small
 * functions on pointers are inline, as they are in its flavors' libraries otherwise. */
#if !defined(URCU_API_MAP)
#define URCU_API_MAP
#endif
#if !defined(URCU_INLINE_SMALL_FUNCTIONS)
#define URCU_INLINE_SMALL_FUNCTIONS
#endif

/* The headers that this one replaces: they do nothing if they are included later. */
#define _URCU_H
#define _URCU_BP_H

#include <readmost/urcu_flavor.h>
#include <stdlib.h>
#include <urcu/defer.h>
#include <urcu/pointer.h>
#if defined(_LGPL_SOURCE)
/* <urcu.h> includes these for such programs. */
#include <unistd.h>
#include <urcu/arch.h>
#include <urcu/compiler.h>
#include <urcu/config.h>
#include <urcu/futex.h>
#include <urcu/list.h>
#include <urcu/system.h>
#include <urcu/tls-compat.h>
#include <urcu/uatomic.h>
#endif

#if defined(__cplusplus) && __cplusplus >= 202002L

extern "C++" {

#include <readmost/detail/rcu/read_section.hpp>

inline void urcu_readmost_inline_read_lock() noexcept {
  readmost::detail::enter_section(readmost::detail::my_record(), 0);
}

inline void urcu_readmost_inline_read_unlock() noexcept {
  readmost::detail::leave_section(readmost::detail::my_record(), 0);
}

}  // extern "C++"

#define rcu_read_lock urcu_readmost_inline_read_lock
#define rcu_read_unlock urcu_readmost_inline_read_unlock
#else
#define rcu_read_lock urcu_readmost_read_lock
#define rcu_read_unlock urcu_readmost_read_unlock
#endif
#define rcu_read_ongoing urcu_readmost_read_ongoing

#define rcu_init urcu_readmost_init
#define rcu_register_thread urcu_readmost_register_thread
#define rcu_unregister_thread urcu_readmost_unregister_thread
#define rcu_thread_online urcu_readmost_thread_online
#define rcu_thread_offline urcu_readmost_thread_offline
#define rcu_quiescent_state urcu_readmost_quiescent_state

#define synchronize_rcu urcu_readmost_synchronize_rcu
#define start_poll_synchronize_rcu urcu_readmost_start_poll_synchronize_rcu
#define poll_state_synchronize_rcu urcu_readmost_poll_state_synchronize_rcu

#define call_rcu urcu_readmost_call_rcu
#define rcu_barrier urcu_readmost_barrier
#define create_call_rcu_data urcu_readmost_create_call_rcu_data
#define call_rcu_data_free urcu_readmost_call_rcu_data_free
#define get_default_call_rcu_data urcu_readmost_get_default_call_rcu_data
#define get_call_rcu_data urcu_readmost_get_call_rcu_data
#define get_thread_call_rcu_data urcu_readmost_get_thread_call_rcu_data
#define set_thread_call_rcu_data urcu_readmost_set_thread_call_rcu_data
#define get_cpu_call_rcu_data urcu_readmost_get_cpu_call_rcu_data
#define set_cpu_call_rcu_data urcu_readmost_set_cpu_call_rcu_data
#define create_all_cpu_call_rcu_data urcu_readmost_create_all_cpu_call_rcu_data
#define free_all_cpu_call_rcu_data urcu_readmost_free_all_cpu_call_rcu_data
#define get_call_rcu_thread urcu_readmost_get_call_rcu_thread
#define call_rcu_before_fork urcu_readmost_call_rcu_before_fork
#define call_rcu_after_fork_parent urcu_readmost_call_rcu_after_fork_parent
#define call_rcu_after_fork_child urcu_readmost_call_rcu_after_fork_child

#define defer_rcu urcu_readmost_defer_rcu
#define rcu_defer_register_thread urcu_readmost_defer_register_thread
#define rcu_defer_unregister_thread urcu_readmost_defer_unregister_thread
#define rcu_defer_barrier urcu_readmost_defer_barrier
#define rcu_defer_barrier_thread urcu_readmost_defer_barrier_thread
#define rcu_defer_exit urcu_readmost_defer_exit

#define rcu_flavor urcu_readmost_flavor
#define urcu_register_rculfhash_atfork urcu_readmost_register_rculfhash_atfork
#define urcu_unregister_rculfhash_atfork urcu_readmost_unregister_rculfhash_atfork

/* Only the flavor bp has these. The library does without them. */
#define urcu_bp_before_fork urcu_readmost_init
#define urcu_bp_after_fork_parent urcu_readmost_init
#define urcu_bp_after_fork_child urcu_readmost_init
