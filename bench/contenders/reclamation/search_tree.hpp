// SPDX-License-Identifier: Apache-2.0
// A search tree without locks whose keys are in its leaves, under any policy of reclamation
// (policies.hpp).
//
// Source: A. Natarajan, N. Mittal, "Fast Concurrent Lock-Free Binary Search Trees", PPoPP 2014: a
// removal marks edges. The edge to the leaf is flagged; then the one to its sibling is tagged, so
// that neither changes any more; then the sibling takes the place of the parent. Here a thread that
// meets a marked edge completes the removal and starts again, so that each node which it reaches by
// unmarked edges is in the tree and can be protected. Therefore the edge above the parent is the
// one to change, and the paper's ancestor and successor are the grandparent and the parent.
#pragma once

#include <limits>
#include <string>

#include "contenders/reclamation/links.hpp"

namespace bench {

template <class Policy>
struct tree_node : Policy::template base<tree_node<Policy>> {
  explicit tree_node(std::uint64_t of) : key(of) {}
  ~tree_node() { *static_cast<volatile std::uint64_t*>(&key) = 0; }

  atomic_link& side(std::uint64_t sought) { return sought < key_in_life(key) ? left : right; }

  std::uint64_t key;    // 0 after its end; of an inner node: the least key on the right
  atomic_link left{0};  // 0 in leaves
  atomic_link right{0};
};

// Keys are neither 0 nor the two highest numbers.
template <class Policy>
class search_tree {
 public:
  using node = tree_node<Policy>;
  using thread = typename Policy::template thread<node>;

  // Two inner nodes and three leaves that are never removed: the nodes below have a parent and a
  // grandparent.
  search_tree() : root_(new node(last)), below_(new node(last - 1)) {
    root_->left.store(link_to(below_));
    root_->right.store(link_to(new node(last)));
    below_->left.store(link_to(new node(1)));
    below_->right.store(link_to(new node(last - 1)));
  }
  search_tree(const search_tree&) = delete;
  search_tree& operator=(const search_tree&) = delete;
  ~search_tree() { destroy(root_); }

  bool contains(thread& me, std::uint64_t key) {
    const typename thread::operation inside(me);
    return seek(me, key + 1).leaf->key == key + 1;
  }

  bool insert(thread& me, std::uint64_t key) {
    const std::uint64_t own = key + 1;  // above that of the lowest leaf
    node* leaf = nullptr;
    node* inner = nullptr;
    const typename thread::operation inside(me);
    for (;;) {
      const path at = seek(me, own);
      const std::uint64_t other = at.leaf->key;
      if (other == own) {
        delete leaf;
        delete inner;
        return false;
      }
      if (leaf == nullptr) {
        leaf = new node(own);
        inner = new node(own);
      }
      inner->key = own < other ? other : own;
      inner->left.store(link_to(own < other ? leaf : at.leaf), std::memory_order_relaxed);
      inner->right.store(link_to(own < other ? at.leaf : leaf), std::memory_order_relaxed);
      link_word expected = link_to(at.leaf);
      if (at.parent->side(own).compare_exchange_strong(expected, link_to(inner),
                                                       std::memory_order_acq_rel)) {
        return true;
      }
    }
  }

  bool remove(thread& me, std::uint64_t key) {
    const std::uint64_t own = key + 1;
    const typename thread::operation inside(me);
    for (;;) {
      const path at = seek(me, own);
      if (at.leaf->key != own) return false;
      link_word expected = link_to(at.leaf);
      if (!at.parent->side(own).compare_exchange_strong(expected, expected | flag,
                                                        std::memory_order_acq_rel)) {
        continue;
      }
      // From here on the key is removed. Another thread may have completed it, or the removal of
      // the sibling: then the flag is elsewhere, and the search completes this one.
      if (!complete(me, at.grandparent->side(own), at.parent)) seek(me, own);
      return true;
    }
  }

  // Protects a node until the thread's next operation.
  void hold_first(thread& me) { protect(me, 0, below_->left); }

  // Calls f(key) for each key; the tree is at rest. Describes a fault, if there is one.
  template <class F>
  std::string for_each(F f) const {
    return walk(f, root_, 1, last);
  }

 private:
  static constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  static constexpr link_word flag = 1;  // the leaf below is being removed
  static constexpr link_word tag = 2;   // the leaf on the other side is

  struct path {
    node* grandparent;
    node* parent;
    node* leaf;
  };

  // The leaf at which the search for the key ends. All nodes of the result are protected.
  path seek(thread& me, std::uint64_t key) {
    constexpr std::size_t of_grandparent = 0;
    constexpr std::size_t of_parent = 1;
    constexpr std::size_t of_current = 2;
    constexpr std::size_t of_next = 3;
    for (;;) {
      path at{root_, below_, nullptr};
      link_word link = protect(me, of_current, below_->side(key));
      for (;;) {
        if (marks_of(link) != 0) {
          complete(me, at.grandparent->side(key), at.parent);
          break;
        }
        at.leaf = node_of<node>(link);
        const link_word next = protect(me, of_next, at.leaf->side(key));
        if (node_of<node>(next) == nullptr) return at;
        at.grandparent = at.parent;
        at.parent = at.leaf;
        link = next;
        me.swap(of_grandparent, of_parent);
        me.swap(of_parent, of_current);
        me.swap(of_current, of_next);
      }
    }
  }

  // Completes the removal of a leaf below `parent`, an edge to which is marked; the sibling takes
  // its place below `above`. False: `parent` is no longer there.
  bool complete(thread& me, atomic_link& above, node* parent) {
    // Both may be flagged; then the exchange below decides which goes first.
    const bool is_left = marks_of(parent->left.load(std::memory_order_acquire)) == flag;
    atomic_link& of_sibling = is_left ? parent->right : parent->left;
    const link_word leaf = (is_left ? parent->left : parent->right).load(std::memory_order_acquire);
    // A flag of the sibling stays with it.
    const link_word sibling = of_sibling.fetch_or(tag, std::memory_order_acq_rel) & ~tag;
    link_word expected = link_to(parent);
    if (!above.compare_exchange_strong(expected, sibling, std::memory_order_acq_rel)) return false;
    me.retire(node_of<node>(leaf));
    me.retire(parent);
    return true;
  }

  static void destroy(node* from) {
    if (from == nullptr) return;
    destroy(node_of<node>(from->left.load()));
    destroy(node_of<node>(from->right.load()));
    delete from;
  }

  // Keys between the two, both included.
  template <class F>
  static std::string walk(F& f, const node* from, std::uint64_t least, std::uint64_t most) {
    if (from->key < least || from->key > most) {
      return "a tree is not sorted, or has a node that is reclaimed";
    }
    const link_word left = from->left.load();
    const link_word right = from->right.load();
    if (left == 0) {
      if (from->key > 1 && from->key < last - 1) f(from->key - 1);
      return {};
    }
    if ((marks_of(left) | marks_of(right)) != 0) return "a removal in a tree is not complete";
    std::string fault = walk(f, node_of<const node>(left), least, from->key - 1);
    return fault.empty() ? walk(f, node_of<const node>(right), from->key, most) : fault;
  }

  node* const root_;
  node* const below_;
};

}  // namespace bench
