// SPDX-License-Identifier: Apache-2.0
// A sorted list of keys without locks, and a hash map of such lists, under any policy of
// reclamation (policies.hpp).
//
// Sources: T. Harris, "A Pragmatic Implementation of Non-Blocking Linked-Lists", DISC 2001, and
// M. Michael, "High Performance Dynamic Lock-Free Hash Tables and List-Based Sets", SPAA 2002: a
// marked link is that of a removed node, and whoever meets the node takes it out of the list, so
// that a node which is reached by unmarked links can be protected.
#pragma once

#include <bit>
#include <string>
#include <vector>

#include "contenders/reclamation/links.hpp"

namespace bench {

template <class Policy>
struct list_node : Policy::template base<list_node<Policy>> {
  explicit list_node(std::uint64_t of) : key(of) {}
  ~list_node() { *static_cast<volatile std::uint64_t*>(&key) = 0; }

  std::uint64_t key;  // 0 after its end
  atomic_link next{0};
};

// Keys are not 0.
template <class Policy>
class lock_free_list {
 public:
  using node = list_node<Policy>;
  using thread = typename Policy::template thread<node>;

  lock_free_list() = default;
  lock_free_list(const lock_free_list&) = delete;
  lock_free_list& operator=(const lock_free_list&) = delete;
  ~lock_free_list() {
    for (node* each = node_of<node>(head_.load()); each != nullptr;) {
      node* const next = node_of<node>(each->next.load());
      delete each;
      each = next;
    }
  }

  bool contains(thread& me, std::uint64_t key) {
    const typename thread::operation inside(me);
    return find(me, key).found;
  }

  bool insert(thread& me, std::uint64_t key) {
    node* fresh = nullptr;
    const typename thread::operation inside(me);
    for (;;) {
      const place at = find(me, key);
      if (at.found) {
        delete fresh;
        return false;
      }
      if (fresh == nullptr) fresh = new node(key);
      fresh->next.store(link_to(at.current), std::memory_order_relaxed);
      link_word expected = link_to(at.current);
      if (at.previous->compare_exchange_strong(expected, link_to(fresh),
                                               std::memory_order_acq_rel)) {
        return true;
      }
    }
  }

  bool remove(thread& me, std::uint64_t key) {
    const typename thread::operation inside(me);
    for (;;) {
      const place at = find(me, key);
      if (!at.found) return false;
      link_word next = link_to(at.next);
      if (!at.current->next.compare_exchange_strong(next, next | removed,
                                                    std::memory_order_acq_rel)) {
        continue;
      }
      link_word expected = link_to(at.current);
      if (at.previous->compare_exchange_strong(expected, link_to(at.next),
                                               std::memory_order_acq_rel)) {
        me.retire(at.current);
      } else {
        find(me, key);
      }
      return true;
    }
  }

  // Protects a node until the thread's next operation.
  void hold_first(thread& me) { protect(me, 0, head_); }

  // Calls f(key) for each key; the list is at rest. Describes a fault, if there is one.
  template <class F>
  std::string for_each(F f) const {
    std::uint64_t last = 0;
    for (const node* each = node_of<node>(head_.load()); each != nullptr;) {
      const link_word next = each->next.load();
      if (each->key <= last) return "a list is not sorted, or has a node that is reclaimed";
      last = each->key;
      if (marks_of(next) == 0) f(last);
      each = node_of<node>(next);
    }
    return {};
  }

 private:
  static constexpr link_word removed = 1;

  // Where a key is, or belongs: before `current`.
  struct place {
    atomic_link* previous;
    node* current;
    node* next;
    bool found;
  };

  // All nodes of the result are protected, in these places of the thread.
  place find(thread& me, std::uint64_t key) {
    constexpr std::size_t of_previous = 0;
    constexpr std::size_t of_current = 1;
    constexpr std::size_t of_next = 2;
    for (;;) {
      atomic_link* previous = &head_;
      node* current = node_of<node>(protect(me, of_current, *previous));
      for (;;) {
        if (current == nullptr) return {previous, nullptr, nullptr, false};
        const link_word link = protect(me, of_next, current->next);
        // Then `current` was in the list when its link was protected, and so was the next node.
        if (previous->load(std::memory_order_acquire) != link_to(current)) break;
        node* const next = node_of<node>(link);
        if (marks_of(link) == 0) {
          const std::uint64_t here = key_in_life(current->key);
          if (here >= key) return {previous, current, next, here == key};
          previous = &current->next;
          me.swap(of_previous, of_current);
        } else {
          link_word expected = link_to(current);
          if (!previous->compare_exchange_strong(expected, link_to(next),
                                                 std::memory_order_acq_rel)) {
            break;
          }
          me.retire(current);
        }
        current = next;
        me.swap(of_current, of_next);
      }
    }
  }

  atomic_link head_{0};
};

template <class Policy>
class lock_free_hash_map {
 public:
  using node = list_node<Policy>;
  using thread = typename Policy::template thread<node>;

  // For about so many keys.
  explicit lock_free_hash_map(std::uint64_t keys)
      : bits_(static_cast<int>(std::bit_width(keys | 1))), buckets_(std::size_t{1} << bits_) {}

  bool contains(thread& me, std::uint64_t key) { return bucket_of(key).contains(me, key); }
  bool insert(thread& me, std::uint64_t key) { return bucket_of(key).insert(me, key); }
  bool remove(thread& me, std::uint64_t key) { return bucket_of(key).remove(me, key); }
  void hold_first(thread& me) {
    for (auto& bucket : buckets_) bucket.hold_first(me);
  }
  template <class F>
  std::string for_each(F f) const {
    for (const auto& bucket : buckets_) {
      if (std::string fault = bucket.for_each(f); !fault.empty()) return fault;
    }
    return {};
  }

 private:
  lock_free_list<Policy>& bucket_of(std::uint64_t key) {
    return buckets_[key * 0x9E37'79B9'7F4A'7C15U >> (64 - bits_)];
  }

  int bits_;
  std::vector<lock_free_list<Policy>> buckets_;
};

}  // namespace bench
