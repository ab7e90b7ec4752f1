// SPDX-License-Identifier: Apache-2.0
// A skip list without locks, under any policy of reclamation (policies.hpp).
//
// Sources: K. Fraser, "Practical Lock-Freedom", 2004, 4.3.3, and M. Herlihy, N. Shavit, "The Art of
// Multiprocessor Programming", 14.4: on each level a list as in lock_free_list.hpp; a node is in
// the set while it is on the lowest level, and a removal marks that level last. Added here: a node
// counts the levels that it is linked on, and its inserter while that links further levels; whoever
// takes it off the last one retires it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "contenders/reclamation/links.hpp"
#include "harness/random_numbers.hpp"

namespace bench {

inline constexpr std::size_t skip_levels = 12;

template <class Policy>
struct skip_node : Policy::template base<skip_node<Policy>> {
  skip_node(std::uint64_t of, std::size_t levels) : key(of), height(levels) {}
  ~skip_node() { *static_cast<volatile std::uint64_t*>(&key) = 0; }

  std::uint64_t key;  // 0 after its end
  std::size_t height;
  std::atomic<std::size_t> uses{1};  // levels, and the inserter
  std::array<atomic_link, skip_levels> next{};
};

// Keys are not 0.
template <class Policy>
class skip_list {
 public:
  using node = skip_node<Policy>;
  using thread = typename Policy::template thread<node>;

  skip_list() = default;
  skip_list(const skip_list&) = delete;
  skip_list& operator=(const skip_list&) = delete;
  ~skip_list() {
    for (node* each = node_of<node>(head_[0].load()); each != nullptr;) {
      node* const next = node_of<node>(each->next[0].load());
      delete each;
      each = next;
    }
  }

  bool contains(thread& me, std::uint64_t key) {
    const typename thread::operation inside(me);
    return find(me, key, 0).found;
  }

  bool insert(thread& me, std::uint64_t key) {
    const typename thread::operation inside(me);
    node* fresh = nullptr;
    for (;;) {
      const place at = find(me, key, 0);
      if (at.found) {
        delete fresh;
        return false;
      }
      if (fresh == nullptr) fresh = new node(key, random_height());
      fresh->next[0].store(link_to(at.current), std::memory_order_relaxed);
      if (link_in(*at.previous, at.current, *fresh)) break;
    }
    for (std::size_t level = 1; level < fresh->height; ++level) {
      if (!link_on(me, *fresh, level)) break;
    }
    // A removal that has passed these levels before the node was linked there relies on this.
    if (is_marked(*fresh)) find(me, key, 0);
    drop(me, *fresh);
    return true;
  }

  bool remove(thread& me, std::uint64_t key) {
    const typename thread::operation inside(me);
    const place at = find(me, key, 0);
    if (!at.found) return false;
    node& old = *at.current;
    for (std::size_t level = old.height - 1; level > 0; --level) {
      old.next[level].fetch_or(removed, std::memory_order_acq_rel);
    }
    // One thread removes the node.
    if (marks_of(old.next[0].fetch_or(removed, std::memory_order_acq_rel)) != 0) return false;
    find(me, key, 0);
    return true;
  }

  // Protects a node until the thread's next operation.
  void hold_first(thread& me) { protect(me, 0, head_[0]); }

  // Calls f(key) for each key; the list is at rest. Describes a fault, if there is one.
  template <class F>
  std::string for_each(F f) const {
    for (std::size_t level = skip_levels; level-- > 0;) {
      std::uint64_t last = 0;
      for (const node* each = node_of<node>(head_[level].load()); each != nullptr;) {
        const link_word next = each->next[level].load();
        if (each->key <= last) return "a skip list is not sorted, or has a node that is reclaimed";
        if (marks_of(next) != 0) return "a removal in a skip list is not complete";
        last = each->key;
        if (level == 0) f(last);
        each = node_of<node>(next);
      }
    }
    return {};
  }

 private:
  static constexpr link_word removed = 1;

  // Where a key is, or belongs, on a level: before `current`.
  struct place {
    atomic_link* previous;
    node* current;
    bool found;
  };

  static std::size_t random_height() {
    thread_local random_numbers random(reinterpret_cast<std::uintptr_t>(&random));
    const auto zeros = static_cast<std::size_t>(std::countr_zero(random() >> 8));
    return 1 + std::min(zeros, skip_levels - 1);
  }

  static bool is_marked(const node& of) {
    return marks_of(of.next[0].load(std::memory_order_acquire)) != 0;
  }

  static void drop(thread& me, node& of) {
    if (of.uses.fetch_sub(1, std::memory_order_acq_rel) == 1) me.retire(&of);
  }

  // Its own link leads to `successor` already.
  static bool link_in(atomic_link& previous, node* successor, node& fresh) {
    fresh.uses.fetch_add(1, std::memory_order_relaxed);
    link_word expected = link_to(successor);
    if (previous.compare_exchange_strong(expected, link_to(&fresh), std::memory_order_acq_rel)) {
      return true;
    }
    fresh.uses.fetch_sub(1, std::memory_order_relaxed);  // not the last: the inserter's is left
    return false;
  }

  // False: the node is being removed.
  bool link_on(thread& me, node& fresh, std::size_t level) {
    link_word own = fresh.next[level].load(std::memory_order_acquire);
    for (;;) {
      const place at = find(me, fresh.key, level);
      // Another node with this key can be there only if this one is removed.
      if (marks_of(own) != 0 || at.found) return false;
      if (!fresh.next[level].compare_exchange_strong(own, link_to(at.current),
                                                     std::memory_order_acq_rel)) {
        return false;  // marked
      }
      own = link_to(at.current);
      if (link_in(*at.previous, at.current, fresh)) return true;
    }
  }

  // Searches from the top down to that level, and takes removed nodes off all of these. The nodes
  // of the result are protected.
  place find(thread& me, std::uint64_t key, std::size_t lowest) {
    for (;;) {
      place at{};
      if (find_once(me, key, lowest, at)) return at;
    }
  }

  // False: a node was removed under the search.
  bool find_once(thread& me, std::uint64_t key, std::size_t lowest, place& at) {
    constexpr std::size_t of_previous = 0;
    constexpr std::size_t of_current = 1;
    constexpr std::size_t of_next = 2;
    std::array<atomic_link, skip_levels>* tower = &head_;
    for (std::size_t level = skip_levels; level-- > lowest;) {
      atomic_link* previous = &(*tower)[level];
      const link_word first = protect(me, of_current, *previous);
      if (marks_of(first) != 0) return false;
      node* current = node_of<node>(first);
      while (current != nullptr) {
        const link_word link = protect(me, of_next, current->next[level]);
        // Then `current` was on this level when its link was protected, and so was the next node.
        if (previous->load(std::memory_order_acquire) != link_to(current)) return false;
        node* const next = node_of<node>(link);
        if (marks_of(link) == 0) {
          if (key_in_life(current->key) >= key) break;
          tower = &current->next;
          previous = &current->next[level];
          me.swap(of_previous, of_current);
        } else {
          link_word expected = link_to(current);
          if (!previous->compare_exchange_strong(expected, link_to(next),
                                                 std::memory_order_acq_rel)) {
            return false;
          }
          drop(me, *current);
        }
        current = next;
        me.swap(of_current, of_next);
      }
      at = {previous, current, current != nullptr && current->key == key};
    }
    return true;
  }

  std::array<atomic_link, skip_levels> head_{};
};

}  // namespace bench
