// The mini-benchmark's table under liburcu's flavor memb, whose read sections are inline here.
#include "mixed_table_of.hpp"
// clang-format off: they depend on one another.
#include "liburcu_tls.hpp"
#define _LGPL_SOURCE  // inline
#define URCU_API_MAP  // names without the flavor
#include <urcu/urcu-memb.h>
// clang-format on

namespace bench {

namespace {

template <class T>
struct with_head {
  rcu_head head;
};

struct liburcu {
  using element = bench::element<with_head>;

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
  static void retire(element* old) {
    call_rcu(&old->head, [](rcu_head* of) {
      delete static_cast<element*>(caa_container_of(of, with_head<element>, head));
    });
  }
  static void quiescent() {}
  static void settle() { rcu_barrier(); }
};

}  // namespace

std::unique_ptr<mixed_table> make_liburcu_mixed_table(std::size_t buckets) {
  return std::make_unique<mixed_table_of<rcu_table<liburcu>>>(buckets);
}

}  // namespace bench
