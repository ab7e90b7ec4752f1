// SPDX-License-Identifier: Apache-2.0
// Lock-free structures under xenium's epochs ("new epoch based reclamation": an operation is one
// critical region; guarding any one object enters the region, which protects all), and under its
// hazard pointers.
#include <xenium/reclamation/generic_epoch_based.hpp>
#include <xenium/reclamation/hazard_pointer.hpp>

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

// One more than the structures protect, for the object that is being retired. Otherwise as at
// first.
using xenium_hazards =
    xenium::reclamation::hazard_pointer<xenium::reclamation::hazard_pointer_traits<
        xenium::reclamation::hp_allocation::static_strategy<protected_places + 1>>>;

struct unneeded : xenium_hazards::enable_concurrent_ptr<unneeded> {};

struct by_xenium_hazards {
  static constexpr const char* name = "xenium-hazard";
  template <class T>
  using base = xenium_hazards::enable_concurrent_ptr<T, 0, reclaimer>;

  template <class Node>
  class thread {
    using pointer = xenium_hazards::concurrent_ptr<Node>;
    using guard = typename pointer::guard_ptr;

   public:
    using node = Node;
    static constexpr bool protects_each = true;

    using operation = protecting_operation<thread>;
    void protect_nothing() {
      for (guard& each : guards_) each.reset();
    }
    void publish(std::size_t i, Node* what) {
      guards_[i].reset();
      guards_[i] = guard{typename pointer::marked_ptr(what)};
    }
    void swap(std::size_t i, std::size_t j) { guards_[i].swap(guards_[j]); }
    void retire(Node* old) {
      waiting_objects::retired();
      guard{typename pointer::marked_ptr(old)}.reclaim();
    }

   private:
    std::array<guard, protected_places> guards_{};
  };
  // What threads have left that ended is reclaimed by one that scans.
  template <class Node>
  static void settle() {
    using pointer = xenium_hazards::concurrent_ptr<unneeded>;
    constexpr int enough = 100'000;
    for (int i = 0; i < enough && waiting_objects::number() != 0; ++i) {
      pointer::guard_ptr{pointer::marked_ptr(new unneeded)}.reclaim();
    }
  }
};

}  // namespace

reclamation_policy xenium_policy() {
  return policy_of<by_xenium>();
}

reclamation_policy xenium_hazard_policy() {
  return policy_of<by_xenium_hazards>();
}

}  // namespace bench
