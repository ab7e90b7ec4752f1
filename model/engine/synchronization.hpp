// SPDX-License-Identifier: Apache-2.0
// C++ happens-before by release and acquire, which is the same under every memory model.
#pragma once

#include "engine/execution.hpp"

namespace readmost::model {

class synchronization {
 public:
  void start(views& all) noexcept { views_ = &all; }

  // Returns what a store by `t` publishes. `continued` is the store that a read-modify-write has
  // read.
  const view* publish(simulated_thread& t, std::memory_order order, const message* continued) {
    view* made = nullptr;
    if (is_release(order)) {
      made = views_->copy(*t.now);
      ++t.now->clock[t.number];
    } else if (t.released != nullptr) {
      made = views_->copy(*t.released);
    }
    if (continued == nullptr || continued->published == nullptr) return made;
    if (made == nullptr) return continued->published;
    views_->join(*made, *continued->published);
    return made;
  }

  void acquire(simulated_thread& t, const message& read, std::memory_order order) {
    if (read.published == nullptr) return;
    if (is_acquire(order)) {
      views_->join(*t.now, *read.published);
    } else {
      if (t.pending_acquire == nullptr) t.pending_acquire = views_->empty();
      views_->join(*t.pending_acquire, *read.published);
    }
  }

  void fence(simulated_thread& t, std::memory_order order) {
    if (is_acquire(order) && t.pending_acquire != nullptr) {
      views_->join(*t.now, *t.pending_acquire);
    }
    if (is_release(order)) {
      t.released = views_->copy(*t.now);
      ++t.now->clock[t.number];
    }
  }

 private:
  views* views_ = nullptr;
};

}  // namespace readmost::model
