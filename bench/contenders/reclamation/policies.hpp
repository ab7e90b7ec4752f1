// SPDX-License-Identifier: Apache-2.0
// Policies of reclamation for lock-free structures. A policy has
//   name; base<Node>: the base of its nodes; settle(): reclaims what is retired, while no other
//   thread uses the policy;
//   thread<Node>: each thread has one. Its operation is the scope of one operation. If
//   protects_each, publish(i, node) protects a node in place `i` (below `places`), after which the
//   caller checks that the node is still reachable, and swap(i, j) exchanges two places. retire()
//   hands over a node that no other thread can reach anew.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <readmost/hazard_pointer.hpp>
#include <readmost/rcu.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "contenders/rcu/hazard_slots.hpp"
#include "contenders/reclamation/waiting_objects.hpp"

namespace bench {

// As many as a structure needs.
inline constexpr std::size_t protected_places = 4;

template <class T>
struct no_reclamation_base {};

// For policies that protect everything that is read in an operation.
template <class Node>
struct protects_all {
  using node = Node;
  static constexpr bool protects_each = false;

  void swap(std::size_t, std::size_t) {}
};

// Operations that are no more than a section.
template <class Section>
class operation_in {
 public:
  template <class Thread>
  explicit operation_in(Thread&) {}

 private:
  Section open_;
};

// Operations at whose end the thread lets go of what it protects one by one.
template <class Thread>
class protecting_operation {
 public:
  explicit protecting_operation(Thread& of) : of_(of) {}
  ~protecting_operation() { of_.protect_nothing(); }
  protecting_operation(const protecting_operation&) = delete;
  protecting_operation& operator=(const protecting_operation&) = delete;

 private:
  Thread& of_;
};

// Nodes that are left by threads that have ended.
template <class Node>
class orphans {
 public:
  static void take(std::vector<Node*>& from) {
    const std::lock_guard guard(mutex_);
    all_.insert(all_.end(), from.begin(), from.end());
    from.clear();
  }
  static void reclaim_all() {
    const std::lock_guard guard(mutex_);
    for (Node* each : all_) reclaim(each);
    all_.clear();
  }

 private:
  static inline std::mutex mutex_;
  static inline std::vector<Node*> all_;
};

// Reclaims nothing before settle().
struct without_reclamation {
  static constexpr const char* name = "none";
  template <class T>
  using base = no_reclamation_base<T>;

  template <class Node>
  class thread : public protects_all<Node> {
   public:
    thread() = default;
    ~thread() { orphans<Node>::take(retired_); }
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;

    struct operation {
      explicit operation(thread&) {}
    };
    void retire(Node* old) {
      waiting_objects::retired();
      retired_.push_back(old);
    }

   private:
    std::vector<Node*> retired_;
  };
  template <class Node>
  static void settle() {
    orphans<Node>::reclaim_all();
  }
};

// Our RCU.
struct by_rcu {
  static constexpr const char* name = "readmost::rcu";
  template <class T>
  using base = readmost::rcu_obj_base<T, reclaimer>;

  template <class Node>
  class thread : public protects_all<Node> {
   public:
    // Retires at its end, outside of the section: inside, the backlog would not be bounded.
    class operation {
     public:
      explicit operation(thread& of) : of_(of) { readmost::rcu_default_domain().lock(); }
      ~operation() {
        readmost::rcu_default_domain().unlock();
        for (Node* each : of_.unlinked_) each->retire();
        of_.unlinked_.clear();
      }
      operation(const operation&) = delete;
      operation& operator=(const operation&) = delete;

     private:
      thread& of_;
    };
    void retire(Node* old) {
      waiting_objects::retired();
      unlinked_.push_back(old);
    }

   private:
    std::vector<Node*> unlinked_;
  };
  template <class Node>
  static void settle() {
    readmost::rcu_barrier();
  }
};

// Our hazard pointers.
struct by_hazard_pointers {
  static constexpr const char* name = "readmost::hazard_pointer";
  template <class T>
  using base = readmost::hazard_pointer_obj_base<T, reclaimer>;

  template <class Node>
  class thread {
   public:
    using node = Node;
    static constexpr bool protects_each = true;

    thread() {
      for (auto& each : hazards_) each = readmost::make_hazard_pointer();
    }

    using operation = protecting_operation<thread>;
    void protect_nothing() {
      for (auto& each : hazards_) each.reset_protection();
    }
    void publish(std::size_t i, const Node* what) { hazards_[i].reset_protection(what); }
    void swap(std::size_t i, std::size_t j) { hazards_[i].swap(hazards_[j]); }
    void retire(Node* old) {
      waiting_objects::retired();
      old->retire();
    }

   private:
    std::array<readmost::hazard_pointer, protected_places> hazards_;
  };
  template <class Node>
  static void settle() {
    readmost::hazard_pointer_clean_up();
  }
};

// Hazard pointers with a fence in each publication.
struct by_fenced_hazard_pointers {
  static constexpr const char* name = "hazard-fenced";
  template <class T>
  using base = no_reclamation_base<T>;

  template <class Node>
  using slots = hazard_slots<Node, hazard_fence::fenced, protected_places, reclaimer>;

  template <class Node>
  class thread {
   public:
    using node = Node;
    static constexpr bool protects_each = true;

    using operation = protecting_operation<thread>;
    void protect_nothing() {
      for (std::size_t i = 0; i < protected_places; ++i) slots_.clear(i);
    }
    void publish(std::size_t i, Node* what) { slots_.publish(place_[i], what); }
    void swap(std::size_t i, std::size_t j) { std::swap(place_[i], place_[j]); }
    void retire(Node* old) {
      waiting_objects::retired();
      slots_.retire(old);
    }

   private:
    slots<Node> slots_;
    std::array<std::size_t, protected_places> place_{0, 1, 2, 3};
  };
  template <class Node>
  static void settle() {
    slots<Node>::settle();
  }
};

// Epochs in their simplest form (K. Fraser, "Practical Lock-Freedom", 2004, 5.2.3). An operation
// announces the epoch that it has seen, with a fence. The epoch advances when all operations that
// are open have seen it. What was retired in an epoch is reclaimed two epochs later: one that was
// being entered during the first advance is seen by the second.
struct alignas(64) epoch_record {
  std::atomic<std::uint64_t> seen{0};  // 0: in no operation
  std::atomic<bool> taken{false};
};
struct epochs_of_all {
  alignas(64) std::atomic<std::uint64_t> epoch{1};
  std::array<epoch_record, 128> records{};
};
inline epochs_of_all all_epochs;

struct by_epochs {
  static constexpr const char* name = "epochs";
  template <class T>
  using base = no_reclamation_base<T>;

  static epoch_record& take_record() {
    for (epoch_record& one : all_epochs.records) {
      if (!one.taken.exchange(true, std::memory_order_acquire)) return one;
    }
    throw std::runtime_error("too many threads use epochs");
  }
  static std::uint64_t advanced() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::uint64_t now = all_epochs.epoch.load(std::memory_order_acquire);
    for (const epoch_record& one : all_epochs.records) {
      const std::uint64_t seen = one.seen.load(std::memory_order_acquire);
      if (seen != 0 && seen != now) return now;
    }
    if (all_epochs.epoch.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel)) ++now;
    return now;
  }

  template <class Node>
  class thread : public protects_all<Node> {
   public:
    thread() : mine_(take_record()) {}
    ~thread() {
      std::vector<Node*> left;
      for (const auto& [node, epoch] : retired_) left.push_back(node);
      orphans<Node>::take(left);
      mine_.taken.store(false, std::memory_order_release);
    }
    thread(const thread&) = delete;
    thread& operator=(const thread&) = delete;

    class operation {
     public:
      explicit operation(thread& of) : of_(of) {
        of_.mine_.seen.store(all_epochs.epoch.load(std::memory_order_acquire),
                             std::memory_order_relaxed);
        // Before anything is read. Pairs with that of advanced().
        std::atomic_thread_fence(std::memory_order_seq_cst);
      }
      ~operation() { of_.mine_.seen.store(0, std::memory_order_release); }
      operation(const operation&) = delete;
      operation& operator=(const operation&) = delete;

     private:
      thread& of_;
    };
    void retire(Node* old) {
      constexpr std::size_t at_once = 128;
      waiting_objects::retired();
      // After the node was unlinked.
      std::atomic_thread_fence(std::memory_order_seq_cst);
      retired_.push_back({old, all_epochs.epoch.load(std::memory_order_acquire)});
      if (++since_ < at_once) return;
      since_ = 0;
      const std::uint64_t now = advanced();
      const auto kept =
          std::find_if(retired_.begin(), retired_.end(),
                       [now](const retired_node& one) { return one.epoch + 2 > now; });
      for (auto each = retired_.begin(); each != kept; ++each) reclaim(each->node);
      retired_.erase(retired_.begin(), kept);
    }

   private:
    struct retired_node {
      Node* node;
      std::uint64_t epoch;
    };

    epoch_record& mine_;
    std::vector<retired_node> retired_;  // oldest first
    std::size_t since_ = 0;
  };
  template <class Node>
  static void settle() {
    orphans<Node>::reclaim_all();
  }
};

}  // namespace bench
