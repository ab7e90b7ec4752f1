// SPDX-License-Identifier: Apache-2.0
// The hash table of the papers' mini-benchmark, without its synchronization: a dense array of
// buckets, doubly-linked chains, and as many elements as buckets, so one in each chain
// (RCU 1 and 6.1; the slides of the RCU paper, "What Benchmark to Use?").
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "contenders/rcu/big_reader_lock.hpp"

namespace bench {

// The content of a key's element. Never 0, which marks a deleted element.
constexpr std::uint64_t content_of(std::uint64_t key) {
  return ~key;
}

// Base<element> is for the element's reclamation. Has 64 bytes with every base.
template <template <class> class Base>
struct element : Base<element<Base>> {
  explicit element(std::uint64_t of) : key(of), content(content_of(of)) {}
  ~element() { *static_cast<volatile std::uint64_t*>(&content) = 0; }
  element(const element&) = delete;
  element& operator=(const element&) = delete;

  bool is_right() const { return content == content_of(key); }

  std::atomic<element*> next{nullptr};
  std::atomic<element*>* previous = nullptr;  // the pointer to this element
  std::uint64_t key;
  std::uint64_t content;
  std::uint64_t rest[2] = {};
};

template <class T>
struct no_base {
  std::uint64_t rest[2] = {};
};

// The state of an element's pointer to the next one after the element is taken out of its chain.
enum class taken_out {
  goes_on,      // readers at the element go on: RCU
  ends_in_loop  // points to the element itself, so that readers start again: hazard pointers
};

template <class Element>
class chains {
 public:
  // Holds the keys below `buckets`, a power of two.
  explicit chains(std::size_t buckets) : heads_(buckets) {
    for (std::uint64_t key = 0; key < buckets; ++key) put_in(*new Element(key));
  }
  ~chains() {
    for (auto& head : heads_) {
      for (Element* at = head.load(); at != nullptr;) delete std::exchange(at, at->next.load());
    }
  }
  chains(const chains&) = delete;
  chains& operator=(const chains&) = delete;

  std::size_t bucket_of(std::uint64_t key) const {
    return static_cast<std::size_t>(key) & (heads_.size() - 1);
  }
  const std::atomic<Element*>& head_of(std::uint64_t key) const { return heads_[bucket_of(key)]; }

  // Null if there is none. The caller protects the element from being deleted.
  Element* find(std::uint64_t key) const {
    Element* at = head_of(key).load(std::memory_order_acquire);
    while (at != nullptr && at->key != key) at = at->next.load(std::memory_order_acquire);
    return at;
  }

  // For one thread at a time in each bucket.
  Element* take_out(std::uint64_t key, taken_out how = taken_out::goes_on) {
    Element* const one = find(key);
    if (one == nullptr) return nullptr;
    Element* const next = one->next.load(std::memory_order_relaxed);
    if (next != nullptr) next->previous = one->previous;
    one->previous->store(next, std::memory_order_release);
    if (how == taken_out::ends_in_loop) one->next.store(one, std::memory_order_release);
    return one;
  }
  void put_in(Element& fresh) {
    std::atomic<Element*>& head = heads_[bucket_of(fresh.key)];
    Element* const next = head.load(std::memory_order_relaxed);
    fresh.next.store(next, std::memory_order_relaxed);
    fresh.previous = &head;
    if (next != nullptr) next->previous = &fresh.next;
    head.store(&fresh, std::memory_order_release);
  }

  // Describes a fault of the table at rest; empty if there is none.
  std::string fault() const {
    for (std::uint64_t key = 0; key < heads_.size(); ++key) {
      const std::atomic<Element*>* from = &heads_[bucket_of(key)];
      const Element* const one = from->load();
      const std::string where = " in bucket " + std::to_string(key);
      if (one == nullptr) return "no element" + where;
      if (one->key != key || !one->is_right()) return "a wrong element" + where;
      if (one->previous != from) return "a wrong link back" + where;
      if (one->next.load() != nullptr) return "two elements" + where;
    }
    return {};
  }

 private:
  std::vector<std::atomic<Element*>> heads_;
};

// A spinlock for each bucket, on a line of its own.
class bucket_locks {
 public:
  explicit bucket_locks(std::size_t buckets) : locks_(std::make_unique<line[]>(buckets)) {}
  spinlock& operator[](std::size_t bucket) { return locks_[bucket].lock; }

 private:
  struct alignas(64) line {
    spinlock lock;
  };
  std::unique_ptr<line[]> locks_;
};

// Chains whose updates take the spinlock of their bucket.
template <class Element>
class locked_chains {
 public:
  explicit locked_chains(std::size_t buckets) : chains_(buckets), locks_(buckets) {}

  const chains<Element>& all() const { return chains_; }
  spinlock& lock_of(std::uint64_t key) { return locks_[chains_.bucket_of(key)]; }

  Element* take_out(std::uint64_t key, taken_out how = taken_out::goes_on) {
    const std::lock_guard guard(lock_of(key));
    return chains_.take_out(key, how);
  }
  void put_in(Element& fresh) {
    const std::lock_guard guard(lock_of(fresh.key));
    chains_.put_in(fresh);
  }

 private:
  chains<Element> chains_;
  bucket_locks locks_;
};

}  // namespace bench
