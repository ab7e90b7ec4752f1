// SPDX-License-Identifier: Apache-2.0
/* The flavor "readmost" of liburcu, in place of memb, mb, signal and bp: a program that includes
 * this header instead of theirs, and is linked with libreadmost instead of their libraries, has the
 * same functions by the same names, with grace periods of microseconds and callbacks that need not
 * wait for 10 ms. Where a source must not change, the compiler finds this header in place of
 * liburcu's with
 *
 *   -I$(pkg-config --variable=liburcu_headers readmost)
 *
 * or with `-include readmost/urcu.h`, if no source defines feature test macros such as _GNU_SOURCE:
 * an included header of the C library would make them come too late.
 *
 * After this header, those of the four flavors do nothing, and the flavors' own names, such as
 * urcu_memb_read_lock, are Readmost's. A program that uses another flavor as well includes that
 * one's header <urcu/urcu-...h> first, without defining URCU_API_MAP; it keeps its own names then.
 * If a header has defined the common names before this one, the compiler says so.
 *
 * In the flavor qsbr, threads are inside sections unless they go offline. A program of that flavor
 * may change to this one if it reads only between rcu_read_lock() and rcu_read_unlock(). It says so
 * by defining READMOST_URCU_FOR_QSBR; otherwise the headers of qsbr are an error after this one.
 *
 * liburcu's other headers, such as <urcu/rculfhash.h> and <urcu/rculist.h>, are included after this
 * one; they and liburcu-cds work as before. In C++20 read sections are inline, otherwise a call. In
 * C++, rcu_barrier, rcu_dereference and rcu_assign_pointer are functions instead of macros, so that
 * their namesakes in the namespace readmost can be used beside them.
 *
 * See <readmost/urcu_flavor.h> for the functions.
 */
#pragma once

#if defined(rcu_read_lock)
#error "another flavor of liburcu is in use here already: include <readmost/urcu.h> instead of it"
#endif

/* liburcu's own switches: the common names stay defined, for its other headers to use, and small
 * functions on pointers are inline, as they are in its flavors' libraries otherwise. */
#if !defined(URCU_API_MAP)
#define URCU_API_MAP
#endif
#if !defined(URCU_INLINE_SMALL_FUNCTIONS)
#define URCU_INLINE_SMALL_FUNCTIONS
#endif

#include <readmost/urcu_flavor.h>
#include <stdlib.h>
#include <urcu/defer.h>
#include <urcu/pointer.h>
#include <urcu/static/pointer.h>
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

/* Also where <urcu/pointer.h> came before, as part of <urcu/rculist.h>, and has chosen functions
 * that only liburcu's flavors contain. */
#undef rcu_dereference
#define rcu_dereference _rcu_dereference
#undef rcu_cmpxchg_pointer
#define rcu_cmpxchg_pointer _rcu_cmpxchg_pointer
#undef rcu_xchg_pointer
#define rcu_xchg_pointer _rcu_xchg_pointer
#undef rcu_set_pointer
#define rcu_set_pointer _rcu_set_pointer

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
#if !defined(__cplusplus)
#define rcu_barrier urcu_readmost_barrier
#endif
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

#if defined(__cplusplus)

/* <urcu/call-rcu.h> declares it. Hidden, because a library of liburcu may define it too. */
extern "C" __attribute__((visibility("hidden"))) inline void rcu_barrier(void) {
  urcu_readmost_barrier();
}

#undef rcu_dereference
#undef rcu_assign_pointer

extern "C++" {

/* The type of a parameter from which no template argument is deduced: NULL may be passed to it. */
template <class Type>
struct urcu_readmost_same {
  typedef Type type;
};

/* As liburcu's, of a pointer that is no std::atomic. */
template <class Pointer>
inline Pointer rcu_dereference(const volatile Pointer& source) {
  return __atomic_load_n(&source, __ATOMIC_CONSUME);
}

template <class Pointer>
inline void rcu_assign_pointer(volatile Pointer& destination,
                               typename urcu_readmost_same<Pointer>::type fresh) {
  __atomic_store_n(&destination, fresh, __ATOMIC_RELEASE);
}

}  // extern "C++"

#endif

/* The headers that this one replaces do nothing if they are included later. */
#define _URCU_H
#include <readmost/urcu_names.h>

#if !defined(_URCU_QSBR_H)
/* Ends the compilation where <urcu/urcu-qsbr.h> declares it. */
#define urcu_qsbr_synchronize_rcu \
  _Pragma("GCC error \"see <readmost/urcu.h> about qsbr, and READMOST_URCU_FOR_QSBR\"")
#endif
