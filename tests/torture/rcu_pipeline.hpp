// SPDX-License-Identifier: Apache-2.0
// Reveals a broken RCU: readers find elements through one pointer, and the age of an element counts
// the grace periods since it was unlinked (as in the Linux kernel's rcutorture). A reader may see
// an element's age become 1, which happens when it is unlinked, but not more: the grace period that
// makes it 2 has to wait for that reader.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <readmost/rcu.hpp>
#include <vector>

#include "session.hpp"

namespace torture {

class rcu_pipeline {
 public:
  // After this many grace periods an element is reused; until then a late reader is detected.
  static constexpr unsigned longest_age = 10;

  struct element {
    std::atomic<unsigned> age{0};
    std::atomic<std::uint64_t> use{0};   // how often it has been reused
    std::atomic<bool> published{false};  // set before readers can find it
  };

  explicit rcu_pipeline(readmost::rcu_domain& dom) : domain(dom) {
    readmost::rcu_limit_laziness({}, domain);  // the more grace periods, the better
    replace();
  }
  rcu_pipeline(const rcu_pipeline&) = delete;
  rcu_pipeline& operator=(const rcu_pipeline&) = delete;
  // Waits until all elements given to age_by_callbacks() have been taken back.
  ~rcu_pipeline() {
    while (underway_.load() != 0) readmost::rcu_barrier(domain);
  }

  // The caller, `me`, is inside a read-side section.
  template <class Action>
  void examine(worker& me, Action meanwhile) {
    const element& one = *current_.load(std::memory_order_acquire);
    const std::uint64_t use = one.use.load(std::memory_order_relaxed);
    if (!one.published.load(std::memory_order_relaxed))
      me.violation("a reader found an element before it was filled in");
    meanwhile();
    const unsigned age = one.age.load(std::memory_order_relaxed);
    if (age != 0) ages_[age].fetch_add(1, std::memory_order_relaxed);
    if (age > 1) me.violation("an element went through a grace period while a reader used it");
    if (one.use.load(std::memory_order_relaxed) != use)
      me.violation("an element was used again while a reader used it");
  }

  // Publishes a new element and returns the previous one, whose age is now 1.
  element* replace() {
    element* const fresh = take();
    fresh->published.store(true, std::memory_order_relaxed);
    element* const old = current_.exchange(fresh, std::memory_order_acq_rel);
    if (old != nullptr) old->age.store(1, std::memory_order_relaxed);
    return old;
  }

  // Counts one more grace period for each element and takes back those that have reached the
  // longest age.
  void grow(std::vector<element*>& unlinked) {
    std::erase_if(unlinked, [&](element* one) { return grow(*one); });
  }
  void take_back(std::vector<element*>& unlinked) {
    for (element* one : unlinked) give(one);
    unlinked.clear();
  }

  // Lets callbacks age the element and take it back.
  void age_by_callbacks(element* one) {
    underway_.fetch_add(1, std::memory_order_relaxed);
    retire(one);
  }
  std::uint64_t underway() const { return underway_.load(std::memory_order_relaxed); }

  // The number of reads that have seen an element of this age, from 1 on.
  std::uint64_t seen_at(unsigned age) const { return ages_[age].load(std::memory_order_relaxed); }

  readmost::rcu_domain& domain;

 private:
  void retire(element* one) {
    readmost::rcu_retire(
        one,
        [this](element* aged) {
          if (grow(*aged)) {
            underway_.fetch_sub(1);
          } else {
            retire(aged);
          }
        },
        domain);
  }

  // Returns whether the element has been taken back.
  bool grow(element& one) {
    const unsigned age = one.age.load(std::memory_order_relaxed) + 1;
    one.age.store(age, std::memory_order_relaxed);
    if (age < longest_age) return false;
    give(&one);
    return true;
  }

  element* take() {
    std::scoped_lock guard(mutex_);
    if (free_.empty()) return &all_.emplace_back();
    element* const one = free_.back();
    free_.pop_back();
    return one;
  }
  void give(element* one) {
    one->use.fetch_add(1, std::memory_order_relaxed);
    one->published.store(false, std::memory_order_relaxed);
    one->age.store(0, std::memory_order_relaxed);
    std::scoped_lock guard(mutex_);
    free_.push_back(one);
  }

  alignas(64) std::atomic<element*> current_{nullptr};
  alignas(64) std::array<std::atomic<std::uint64_t>, longest_age + 1> ages_{};
  std::atomic<std::uint64_t> underway_{0};
  std::mutex mutex_;
  std::deque<element> all_;
  std::vector<element*> free_;
};

}  // namespace torture
