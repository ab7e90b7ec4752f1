// SPDX-License-Identifier: Apache-2.0
// A small, fast generator; std::mt19937 would outweigh the lock in the readers' loops.
#pragma once

#include <cstdint>

namespace torture {

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(mix(seed)) {}

  std::uint64_t next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1dU;
  }

  // Returns 0 to bound - 1.
  unsigned below(unsigned bound) { return static_cast<unsigned>(((next() >> 32) * bound) >> 32); }

  unsigned between(unsigned low, unsigned high) { return low + below(high - low + 1); }

  bool one_in(unsigned bound) { return below(bound) == 0; }

 private:
  // Neighbouring seeds must not give neighbouring sequences, and the state must not be 0.
  static std::uint64_t mix(std::uint64_t seed) {
    seed += 0x9e3779b97f4a7c15U;
    seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9U;
    seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebU;
    return (seed ^ (seed >> 31)) | 1U;
  }

  std::uint64_t state_;
};

// About a nanosecond per turn; keeps the processor busy without touching memory.
inline void spin(unsigned turns) {
  for (unsigned turn = 0; turn < turns; ++turn) asm volatile("" ::: "memory");
}

}  // namespace torture
