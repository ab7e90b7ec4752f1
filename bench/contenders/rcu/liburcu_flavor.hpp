// One flavor of liburcu under its names without the flavor, with its read sections inline: the one
// whose header is BENCH_URCU_HEADER; without that, memb.
#pragma once

// clang-format off: they depend on one another.
#include <urcu/tls-compat.h>
// Its thread-local variables are C's, which no thread has to construct: as C++'s thread_local,
// which its headers make them, each access from outside would look for a constructor.
#undef URCU_TLS_STORAGE_CLASS
#define URCU_TLS_STORAGE_CLASS __thread

#if !defined(BENCH_URCU_HEADER)
#define BENCH_URCU_HEADER <urcu/urcu-memb.h>
#endif
#define _LGPL_SOURCE  // inline
#define URCU_API_MAP  // names without the flavor
#include BENCH_URCU_HEADER
#include <urcu/rculfhash.h>
#undef rcu_flavor  // a name of ours
// clang-format on

namespace bench {

// Each file that is compiled has a flavor of its own.
namespace {

struct urcu {
  // Base of what is retired.
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
  // A thread that has sections, in scope.
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
