// SPDX-License-Identifier: Apache-2.0
// Links of lock-free structures: pointers with marks in the lowest bits.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace bench {

// The keys of nodes are not 0 before their end.
inline std::uint64_t key_in_life(std::uint64_t key) {
  if (key == 0) [[unlikely]] {
    std::fputs("a thread has reached a node that is reclaimed\n", stderr);
    std::abort();
  }
  return key;
}

using link_word = std::uintptr_t;
using atomic_link = std::atomic<link_word>;

inline constexpr link_word link_marks = 3;

template <class Node>
Node* node_of(link_word link) {
  return reinterpret_cast<Node*>(link & ~link_marks);
}
inline link_word link_to(const void* node, link_word marks = 0) {
  return reinterpret_cast<link_word>(node) | marks;
}
inline link_word marks_of(link_word link) {
  return link & link_marks;
}

// Protects the node that the link leads to, in place `i` of the thread, if the policy protects
// nodes one by one: the link has led there after the publication. Returns the link.
template <class Thread>
link_word protect(Thread& me, std::size_t i, const atomic_link& source) {
  link_word seen = source.load(std::memory_order_acquire);
  if constexpr (Thread::protects_each) {
    for (;;) {
      me.publish(i, node_of<typename Thread::node>(seen));
      const link_word again = source.load(std::memory_order_acquire);
      if (again == seen) break;
      seen = again;
    }
  }
  return seen;
}

}  // namespace bench
