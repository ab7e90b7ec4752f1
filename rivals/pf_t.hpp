// SPDX-License-Identifier: Apache-2.0
// PF-T: phase-fair, on tickets.
//
// Source: Brandenburg and Anderson, "Spin-based reader-writer synchronization for multiprocessor
// real-time systems", Real-Time Systems 46(1), 2010, section 3.2; BRAVO 5.
//
// Readers count themselves in when they enter and out when they leave, in two words. A writer takes
// a ticket and, at its turn, sets the low bits of the first word: it waits for readers that entered
// before, and readers that arrive later wait for this writer phase to end. So a reader waits for
// one writer at most, and a writer for the writers before it, with one reader phase between two
// writers.
//
// Simplified: the paper tells one phase of writing from the next by the parity of the ticket. Here
// the bit is turned over at each phase, since try_lock() may take a ticket and write nothing.
//
// Reader: one read-modify-write to lock, one to unlock, on one line for all. Writer: two to lock,
// one to unlock. Preference: by turns. Recursive read locks: no; they block behind a waiting
// writer. Size: 16 bytes. Waiting: all threads read the same line.
#pragma once

#include "rivals/phase_fair.hpp"

namespace rivals {

class pf_t : public phase_fair {
 public:
  void lock_shared() noexcept {
    const std::uint32_t phase = readers_in_.fetch_add(one_reader, platform::acquire) & writer_bits;
    if ((phase & present) == 0) return;
    wait_until([&] { return (readers_in_.load(platform::acquire) & writer_bits) != phase; });
  }

  void unlock_shared() noexcept { readers_out_.fetch_add(one_reader, platform::release); }

  void lock() noexcept {
    const std::uint32_t ticket = writers_in_.fetch_add(1, platform::relaxed);
    wait_until([&] { return writers_out_.load(platform::acquire) == ticket; });
    const std::uint32_t phase = next_phase(readers_in_.load(platform::relaxed));
    const std::uint32_t before = readers_in_.fetch_add(phase, platform::acquire) & ~writer_bits;
    wait_until([&] { return readers_out_.load(platform::acquire) == before; });
  }

  bool try_lock() noexcept {
    std::uint32_t ticket = writers_out_.load(platform::acquire);
    if (!writers_in_.compare_exchange_strong(ticket, ticket + 1, platform::relaxed)) return false;
    std::uint32_t in = readers_in_.load(platform::relaxed);
    while (readers_out_.load(platform::acquire) == (in & ~writer_bits)) {
      if (readers_in_.compare_exchange_weak(in, in + next_phase(in), platform::acquire,
                                            platform::relaxed)) {
        return true;
      }
    }
    next_writer();
    return false;
  }

  void unlock() noexcept {
    readers_in_.fetch_sub(present, platform::release);
    next_writer();
  }

 private:
  // Added to readers_in_, this begins the next phase of writing.
  static constexpr std::uint32_t next_phase(std::uint32_t in) noexcept {
    return (in & parity) == 0 ? present + parity : present - parity;
  }

  void next_writer() noexcept {
    writers_out_.store(writers_out_.load(platform::relaxed) + 1, platform::release);
  }

  platform::atomic<std::uint32_t> writers_in_{0};
  platform::atomic<std::uint32_t> writers_out_{0};
};
static_assert(sizeof(pf_t) == 16);

}  // namespace rivals
