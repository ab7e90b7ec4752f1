// Semaphores under liburcu's flavor memb, whose read sections are inline here.
#include "semaphore_set_of.hpp"
// clang-format off: they depend on one another.
#include "liburcu_tls.hpp"
#define _LGPL_SOURCE  // inline
#define URCU_API_MAP  // names without the flavor
#include <urcu/urcu-memb.h>
// clang-format on

namespace bench {

namespace {

struct liburcu {
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

std::unique_ptr<semaphore_set> make_liburcu_semaphores() {
  return std::make_unique<semaphore_set_of<rcu_protection<liburcu>>>();
}

}  // namespace bench
