// SPDX-License-Identifier: Apache-2.0
// Lock-free structures under xenium's epochs ("new epoch based reclamation": an operation is one
// critical region). Guarding any one object enters the region, which protects all.
#include <xenium/reclamation/generic_epoch_based.hpp>

#include "contenders/reclamation/lock_free_set_of.hpp"
#include "contenders/reclamation/policies.hpp"

namespace bench {

namespace {

using xenium_epochs = xenium::reclamation::new_epoch_based<>;

struct any_object : xenium_epochs::enable_concurrent_ptr<any_object> {};
any_object guarded_by_all;

class critical_region {
  using pointer = xenium_epochs::concurrent_ptr<any_object>;

  pointer::guard_ptr open_{pointer::marked_ptr(&guarded_by_all)};
};

struct by_xenium {
  static constexpr const char* name = "xenium-nebr";
  template <class T>
  using base = xenium_epochs::enable_concurrent_ptr<T, 0, reclaimer>;

  template <class Node>
  class thread : public protects_all<Node> {
   public:
    using operation = operation_in<critical_region>;
    void retire(Node* old) {
      waiting_objects::retired();
      using pointer = xenium_epochs::concurrent_ptr<Node>;
      typename pointer::guard_ptr guard{typename pointer::marked_ptr(old)};
      guard.reclaim();
    }
  };
  // What threads have left that ended is reclaimed by one that enters regions.
  template <class Node>
  static void settle() {
    constexpr int enough = 10'000;
    for (int i = 0; i < enough && waiting_objects::number() != 0; ++i) {
      const critical_region next;
    }
  }
};

}  // namespace

reclamation_policy xenium_policy() {
  return policy_of<by_xenium>();
}

}  // namespace bench
