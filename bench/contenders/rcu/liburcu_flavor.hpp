// SPDX-License-Identifier: Apache-2.0
// The flavor of liburcu whose header is BENCH_URCU_HEADER, by default memb, under names without the
// flavor and with inline read sections.
#pragma once

// clang-format off: the order matters.
#include <urcu/tls-compat.h>
// liburcu's thread-local variables are C's and need no construction. Its headers declare them as C++'s
// thread_local, for which each access from another file would check for a constructor.
#undef URCU_TLS_STORAGE_CLASS
#define URCU_TLS_STORAGE_CLASS __thread

#if !defined(BENCH_URCU_HEADER)
#define BENCH_URCU_HEADER <urcu/urcu-memb.h>
#endif
#define _LGPL_SOURCE  // inline
#define URCU_API_MAP  // names without the flavor
#include BENCH_URCU_HEADER
#include <urcu/rculfhash.h>
#undef rcu_flavor  // a name in sides.hpp
// clang-format on

namespace bench {

// Each object file has a flavor of its own.
namespace {

struct urcu {
  // The base of retired objects.
  template <class T>
  struct element_base {
    rcu_head head;
  };

  class section {
   public:
    section() { rcu_read_lock(); }
    ~section() { rcu_read_unlock(); }
    section(const section&) = delete;
    section& operator=(const section&) = delete;
  };
  // Registers the calling thread during the lifetime of the object.
  class thread {
   public:
    thread() { rcu_register_thread(); }
    ~thread() { rcu_unregister_thread(); }
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;
  };
  template <class T>
  static void retire(T* object) {
    call_rcu(&object->head, [](rcu_head* of) {
      delete static_cast<T*>(caa_container_of(of, element_base<T>, head));
    });
  }
  static void settle() { rcu_barrier(); }
};

}  // namespace

}  // namespace bench
