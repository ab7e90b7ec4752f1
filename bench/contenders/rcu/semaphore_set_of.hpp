// SPDX-License-Identifier: Apache-2.0
// Implements semaphore_set for a `Protection` of the array and of the semaphores in it, which has
//   element_base<T>: the base of retired objects;
//   user: each thread has one, to make a `section` while it looks up a number and uses the
//   semaphore; locks_each: whether semaphores have a lock of their own, taken inside of the
//   section; exclusive: the scope of a change of the array, in place or by replacement;
//   retire(object): deletes the object when no section that may have it is open.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "contenders/rcu/big_reader_lock.hpp"
#include "contenders/rcu/semaphores.hpp"
#include "harness/random_numbers.hpp"

namespace bench {

// The loop of semaphore_set::use(): count_up(number) returns whether there is such a semaphore.
template <class CountUp>
semaphore_result use_semaphores(const std::atomic<bool>& stopped, std::uint64_t seed,
                                std::size_t numbers, std::atomic<std::uint64_t>& operations,
                                CountUp count_up) {
  constexpr unsigned batch = 64;
  random_numbers random(seed);
  semaphore_result result;
  for (std::uint64_t done = 0; !stopped.load(std::memory_order_relaxed);) {
    for (unsigned i = 0; i < batch; ++i) {
      if (count_up(static_cast<std::size_t>(random() * numbers >> 32))) {
        ++result.operations;
      } else {
        ++result.missing;
      }
    }
    operations.store(done += batch, std::memory_order_relaxed);
  }
  return result;
}

template <class Protection>
class semaphore_set_of final : public semaphore_set {
 public:
  semaphore_set_of() : entries_(new array(step)) {}
  ~semaphore_set_of() override {
    settle();
    array* const last = entries_.load();
    for (auto& entry : last->entries) delete entry.load();
    delete last;
  }

  semaphore_result use(const std::atomic<bool>& stopped, std::uint64_t seed, std::size_t numbers,
                       std::atomic<std::uint64_t>& operations) override {
    typename Protection::user me(protection_);
    return use_semaphores(stopped, seed, numbers, operations,
                          [&](std::size_t number) { return count_up(me, number); });
  }

  std::size_t create() override {
    auto* const fresh = new semaphore;
    const std::lock_guard changing(changes_);
    array* all = entries_.load(std::memory_order_relaxed);
    std::size_t number = 0;
    while (number < all->entries.size() && all->entries[number].load() != nullptr) ++number;
    if (number == all->entries.size()) {
      replace(number + step);
      all = entries_.load(std::memory_order_relaxed);
    }
    const typename Protection::exclusive alone(protection_);
    all->entries[number].store(fresh, std::memory_order_release);
    return number;
  }

  std::uint64_t remove(std::size_t number) override {
    semaphore* gone = nullptr;
    std::uint64_t value = 0;
    {
      const std::lock_guard changing(changes_);
      const typename Protection::exclusive alone(protection_);
      auto& entry = entries_.load(std::memory_order_relaxed)->entries[number];
      gone = entry.load(std::memory_order_relaxed);
      // A thread that has found it already sees `deleted` (Fig. 21).
      const std::lock_guard guard(gone->lock);
      entry.store(nullptr, std::memory_order_relaxed);
      gone->deleted = true;
      value = gone->value;
    }
    Protection::retire(gone);
    return value;
  }

  void trim() override {
    const std::lock_guard changing(changes_);
    const array* const all = entries_.load(std::memory_order_relaxed);
    std::size_t used = all->entries.size();
    while (used > step && all->entries[used - 1].load() == nullptr) --used;
    replace((used + step - 1) / step * step);
  }
  std::size_t capacity() override {
    const std::lock_guard changing(changes_);
    return entries_.load(std::memory_order_relaxed)->entries.size();
  }

  void settle() override { Protection::settle(); }

 private:
  // By which the array grows.
  static constexpr std::size_t step = 16;

  struct alignas(64) semaphore : Protection::template element_base<semaphore> {
    spinlock lock;
    bool deleted = false;
    std::uint64_t value = 0;
  };
  // Has its size, so that a reader sees the array and the size that belong together.
  struct array : Protection::template element_base<array> {
    explicit array(std::size_t size) : entries(size) {}
    std::vector<std::atomic<semaphore*>> entries;
  };

  // The caller holds changes_.
  void replace(std::size_t size) {
    array* const old = entries_.load(std::memory_order_relaxed);
    auto* const fresh = new array(size);
    for (std::size_t i = 0; i < std::min(size, old->entries.size()); ++i) {
      fresh->entries[i].store(old->entries[i].load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
    }
    {
      const typename Protection::exclusive alone(protection_);
      entries_.store(fresh, std::memory_order_release);
    }
    Protection::retire(old);
  }

  // ipc_lock(), an operation and ipc_unlock() (Fig. 22).
  bool count_up(typename Protection::user& me, std::size_t number) {
    const typename Protection::section inside(me);
    const array* const all = entries_.load(std::memory_order_acquire);
    if (number >= all->entries.size()) return false;
    semaphore* const found = all->entries[number].load(std::memory_order_acquire);
    if (found == nullptr) return false;
    if constexpr (Protection::locks_each) {
      const std::lock_guard guard(found->lock);
      if (found->deleted) return false;
      ++found->value;
    } else {
      ++found->value;
    }
    return true;
  }

  alignas(64) Protection protection_;
  alignas(64) std::atomic<array*> entries_;
  alignas(64) std::mutex changes_;  // one change at a time
};

// For protections that need no base to reclaim objects.
template <class T>
struct no_element_base {};

// Sections of RCU, which changes do not exclude. Rcu has element_base, section, thread, retire()
// and settle().
template <class Rcu>
struct rcu_protection {
  static constexpr bool locks_each = true;

  template <class T>
  using element_base = typename Rcu::template element_base<T>;

  struct user {
    explicit user(rcu_protection&) {}
    [[no_unique_address]] typename Rcu::thread member;
  };
  class section {
   public:
    explicit section(user&) {}

   private:
    typename Rcu::section open_;
  };
  struct exclusive {
    explicit exclusive(rcu_protection&) {}
  };

  template <class T>
  static void retire(T* object) {
    Rcu::retire(object);
  }
  static void settle() { Rcu::settle(); }
};

}  // namespace bench
