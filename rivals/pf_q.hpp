// SPDX-License-Identifier: Apache-2.0
// PF-Q: phase-fair, on queues. "BA" in the BRAVO paper, the lock under its BRAVO.
//
// Source: Brandenburg and Anderson, "Spin-based reader-writer synchronization for multiprocessor
// real-time systems", Real-Time Systems 46(1), 2010, section 3.3; BRAVO 5.
//
// Readers count themselves in and out, as in PF-T. Readers that find a writer queue up, and each of
// them spins on a variable of its own; the writer that leaves wakes the last, and each wakes the
// one before it. Writers are an MCS queue, whose first waits until the last reader before it wakes
// it.
//
// Simplified: the paper's writer hands its node from lock to unlock. Here the node of the writer
// inside lies in the lock, and takes the place of the one on the stack that it waited with. The
// writer also subtracts the readers that entered before it from the count of readers that have
// left, so that the last of them learns from the count alone that it is the last: the others leave
// without another access to a lock that may be destroyed by then.
//
// Reader: one read-modify-write to lock, one to unlock, on one line for all. Writer: three to lock,
// three to unlock. Preference: by turns. Recursive read locks: no; they block behind a waiting
// writer. Size: one line (in the paper two, which its machine fetches in pairs). Waiting: each on a
// line of its own.
#pragma once

#include "rivals/phase_fair.hpp"

namespace rivals {

class alignas(platform::cache_line) pf_q : public phase_fair {
 public:
  void lock_shared() noexcept {
    const std::uint32_t in = readers_in_.fetch_add(one_reader, platform::acquire);
    if ((in & present) != 0) wait_for_writer(waiting_[in & parity]);
  }

  void unlock_shared() noexcept {
    // Acquire: the writer's store to its `blocked` happens before this reader ends its wait.
    const std::uint32_t out = readers_out_.fetch_add(one_reader, platform::acq_rel);
    if (out == present - one_reader) writer_.blocked.store(false, platform::release);
  }

  void lock() noexcept {
    queue_up();
    std::uint32_t in = readers_in_.load(platform::relaxed);
    waiting_[in & parity].store(nobody(), platform::relaxed);
    writer_.blocked.store(true, platform::relaxed);
    // Release: a reader that sees the writer also sees its queue open.
    in = readers_in_.fetch_add(present, platform::acq_rel);
    before_ = in & ~writer_bits;
    if (readers_out_.fetch_add(present - before_, platform::acq_rel) == before_) return;
    wait_until([this] { return !writer_.blocked.load(platform::acquire); });
  }

  bool try_lock() noexcept {
    node* none = nullptr;
    if (!last_writer_.compare_exchange_strong(none, &writer_, platform::acquire,
                                              platform::relaxed)) {
      return false;
    }
    std::uint32_t in = readers_in_.load(platform::relaxed);
    while (readers_out_.load(platform::acquire) == (in & ~writer_bits)) {
      // No reader is inside, so none is left in the queue.
      waiting_[in & parity].store(nobody(), platform::relaxed);
      if (readers_in_.compare_exchange_weak(in, in + present, platform::acq_rel,
                                            platform::relaxed)) {
        before_ = in & ~writer_bits;
        return true;
      }
    }
    next_writer();
    return false;
  }

  void unlock() noexcept {
    // A plain store: as long as the writer is present no reader is inside.
    readers_out_.store(before_, platform::relaxed);
    const std::uint32_t in = readers_in_.load(platform::relaxed) & parity;
    // The writer is present no more, and the next phase of writing has the other queue.
    readers_in_.fetch_add(in == 0 ? parity - present : 0U - parity - present, platform::release);
    // Acquire: the node of the last in the queue.
    node* const last = waiting_[in].exchange(nullptr, platform::acq_rel);
    if (last != nobody()) last->blocked.store(false, platform::release);
    next_writer();
  }

 private:
  // On the stack of a waiting thread. Writers are linked by `next`; a reader keeps the node before
  // it.
  struct node {
    platform::atomic<bool> blocked{true};
    platform::atomic<node*> next{nullptr};
  };

  // The end of a queue of readers while their writer is present; null when it has gone.
  node* nobody() noexcept { return &writer_; }

  [[gnu::noinline]] void wait_for_writer(platform::atomic<node*>& queue) noexcept {
    node mine;
    node* before = queue.exchange(&mine, platform::acq_rel);
    if (before == nullptr) {
      // The writer has left and no longer reads the queue: this thread wakes the last reader in its
      // place.
      before = queue.exchange(nullptr, platform::acq_rel);
      if (before == &mine) return;
      before->blocked.store(false, platform::release);
      wait_until([&] { return !mine.blocked.load(platform::acquire); });
      return;
    }
    wait_until([&] { return !mine.blocked.load(platform::acquire); });
    if (before != nobody()) before->blocked.store(false, platform::release);
  }

  // Returns when this thread is the first of the writers and its node is the one in the lock.
  void queue_up() noexcept {
    node* none = nullptr;
    if (last_writer_.compare_exchange_strong(none, &writer_, platform::acquire,
                                             platform::relaxed)) {
      return;
    }
    node mine;
    node* const before = last_writer_.exchange(&mine, platform::acq_rel);
    if (before != nullptr) {
      before->next.store(&mine, platform::release);
      wait_until([&] { return !mine.blocked.load(platform::acquire); });
    }
    writer_.next.store(nullptr, platform::relaxed);
    node* expected = &mine;
    if (last_writer_.compare_exchange_strong(expected, &writer_, platform::acq_rel,
                                             platform::relaxed)) {
      return;
    }
    writer_.next.store(successor(mine), platform::relaxed);
  }

  void next_writer() noexcept {
    if (writer_.next.load(platform::relaxed) == nullptr) {
      node* expected = &writer_;
      if (last_writer_.compare_exchange_strong(expected, nullptr, platform::release,
                                               platform::relaxed)) {
        return;
      }
    }
    successor(writer_)->blocked.store(false, platform::release);
  }

  static node* successor(node& of) noexcept {
    node* next = nullptr;
    wait_until([&] { return (next = of.next.load(platform::acquire)) != nullptr; });
    return next;
  }

  // Readers that came before the writer inside.
  platform::variable<std::uint32_t> before_{0};
  platform::atomic<node*> waiting_[2]{nullptr, nullptr};
  platform::atomic<node*> last_writer_{nullptr};
  node writer_;
};
static_assert(sizeof(pf_q) == platform::cache_line);

}  // namespace rivals
