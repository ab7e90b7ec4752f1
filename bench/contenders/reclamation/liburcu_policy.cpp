// SPDX-License-Identifier: Apache-2.0
// Lock-free structures under liburcu's flavor memb, with inline read sections.
#include "contenders/reclamation/lock_free_set_of.hpp"
#include "contenders/reclamation/policies.hpp"
// clang-format off: last, since some of its names are macros.
#include "contenders/rcu/liburcu_flavor.hpp"
// clang-format on

namespace bench {

namespace {

struct by_liburcu {
  static constexpr const char* name = "liburcu-memb";
  template <class T>
  using base = urcu::element_base<T>;

  template <class Node>
  class thread : public protects_all<Node> {
   public:
    using operation = operation_in<urcu::section>;
    void retire(Node* old) {
      waiting_objects::retired();
      call_rcu(&old->head, [](rcu_head* of) {
        reclaim(static_cast<Node*>(caa_container_of(of, base<Node>, head)));
      });
    }

   private:
    urcu::thread member_;
  };
  template <class Node>
  static void settle() {
    rcu_barrier();
  }
};

}  // namespace

reclamation_policy liburcu_policy() {
  return policy_of<by_liburcu>();
}

}  // namespace bench
