// SPDX-License-Identifier: Apache-2.0
// The common part of PF-T and PF-Q: readers are counted in and out in two words, and the low bits
// of the first announce a phase of writing.
#pragma once

#include <cstdint>

#include "rivals/spin.hpp"

namespace rivals {

class phase_fair : immovable<phase_fair> {
 public:
  bool try_lock_shared() noexcept {
    std::uint32_t in = readers_in_.load(platform::relaxed);
    while ((in & present) == 0) {
      if (readers_in_.compare_exchange_weak(in, in + one_reader, platform::acquire,
                                            platform::relaxed)) {
        return true;
      }
    }
    return false;
  }

 protected:
  static constexpr std::uint32_t one_reader = 0x100;
  static constexpr std::uint32_t present = 2;  // a writer is inside, or next
  static constexpr std::uint32_t parity = 1;   // of the phase of writing
  static constexpr std::uint32_t writer_bits = present | parity;

  platform::atomic<std::uint32_t> readers_in_{0};
  platform::atomic<std::uint32_t> readers_out_{0};
};

}  // namespace rivals
