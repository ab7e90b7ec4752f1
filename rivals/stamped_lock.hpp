// SPDX-License-Identifier: Apache-2.0
// Java's StampedLock: a reader-writer lock that can also be read without locking.
//
// Source: java.util.concurrent.locks.StampedLock, JDK 17 (D. Lea).
//
// One word has the number of readers, whether there is a writer, and a version that every writer
// raises. A reader either counts itself in the word, or takes the word down as a stamp, reads
// (`sequenced` data: sequenced.hpp), and asks whether the stamp is still valid. Threads that have
// to wait do so in a queue, which readers do not pass.
//
// Simplified: the queue is a ticket lock, at whose head a thread waits for the word, instead of a
// list of nodes that sleep; writers may pass it, as in Java. Twenty bits of readers need no
// overflow. No conversions between modes.
//
// Reader: one compare-and-swap and one atomic subtraction; optimistic: two loads. Writer: one
// compare-and-swap and one atomic addition. Preference: in order of arrival. Recursive read locks:
// only while no thread waits. Size: 16 bytes.
#pragma once

#include "rivals/sequenced.hpp"
#include "rivals/spin.hpp"

namespace rivals {

class stamped_lock : immovable<stamped_lock> {
 public:
  using stamp = std::uint64_t;

  // 0 while there is a writer.
  stamp try_optimistic_read() const noexcept {
    const std::uint64_t state = state_.load(platform::acquire);
    return (state & writing) != 0 ? 0 : (state & ~readers) | 1;
  }
  // Whether there has been no writer since. Never for 0.
  bool validate(stamp taken) const noexcept {
    return taken != 0 && ((state_.load(platform::relaxed) & ~readers) | 1) == taken;
  }

  void lock() noexcept {
    if (!try_lock()) {
      in_queue([this] { return try_lock(); });
    }
  }
  bool try_lock() noexcept {
    std::uint64_t state = state_.load(platform::relaxed);
    return (state & (readers | writing)) == 0 &&
           state_.compare_exchange_strong(state, state | writing, platform::acquire,
                                          platform::relaxed);
  }
  // Carries into the version.
  void unlock() noexcept { state_.fetch_add(writing, platform::release); }

  void lock_shared() noexcept {
    if (arrivals_.load(platform::relaxed) != departures_.load(platform::relaxed) ||
        !try_lock_shared()) {
      in_queue([this] { return try_lock_shared(); });
    }
  }
  bool try_lock_shared() noexcept {
    std::uint64_t state = state_.load(platform::relaxed);
    while ((state & writing) == 0) {
      if (state_.compare_exchange_weak(state, state + 1, platform::acquire, platform::relaxed)) {
        return true;
      }
    }
    return false;
  }
  void unlock_shared() noexcept { state_.fetch_sub(1, platform::release); }

 private:
  static constexpr std::uint64_t readers = (std::uint64_t{1} << 20) - 1;
  static constexpr std::uint64_t writing = readers + 1;  // above it the version

  template <class Try>
  void in_queue(Try try_now) noexcept {
    const std::uint32_t mine = arrivals_.fetch_add(1, platform::relaxed);
    wait_until([&] { return departures_.load(platform::relaxed) == mine; });
    wait_until(try_now);
    departures_.store(mine + 1, platform::relaxed);
  }

  platform::atomic<std::uint64_t> state_{0};
  platform::atomic<std::uint32_t> arrivals_{0};
  platform::atomic<std::uint32_t> departures_{0};
};

}  // namespace rivals
