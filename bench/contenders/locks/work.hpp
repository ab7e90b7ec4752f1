// SPDX-License-Identifier: Apache-2.0
// The work of threads inside and outside of sections.
#pragma once

#include <cstdint>

namespace bench {

// A unit is one iteration of a loop that decrements a register: two instructions, about one cycle.
inline void count_down(unsigned units) {
  for (; units != 0; --units) asm volatile("" : "+r"(units));
}

// Steps of one instruction and one cycle, each of which waits for the one before, also across the
// ends of sections: the processor cannot overlap them.
class chain {
 public:
  static constexpr unsigned steps_at_once = 10;

  void advance(unsigned times_ten) {
    for (; times_ten != 0; --times_ten) {
#pragma GCC unroll 10
      for (unsigned i = 0; i < steps_at_once; ++i) {
        ++state_;
        asm volatile("" : "+r"(state_));
      }
    }
  }

 private:
  std::uint64_t state_ = 0;
};

// A counter that shows when its lock failed to protect it. It is kept twice, the second time with
// every bit inverted, so that a reader sees two numbers that disagree during a write.
class twin_counter {
 public:
  void increment() {
    ++count_;
    // Keeps the compiler from merging the two stores.
    asm volatile("" ::: "memory");
    inverted_ = ~count_;
  }
  bool is_whole() const { return count_ == ~inverted_; }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t inverted_ = ~std::uint64_t{0};
};

}  // namespace bench
