// What threads do inside and outside of locks.
#pragma once

#include <cstdint>

namespace bench {

// One unit is one turn of a loop that counts a register down: two instructions, about one cycle.
inline void count_down(unsigned units) {
  for (; units != 0; --units) asm volatile("" : "+r"(units));
}

// Steps of one instruction and one cycle each, of which each waits for the one before, also over
// the ends of sections. So a processor overlaps nothing of it, and the loop ends where it is
// expected to.
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

// A counter that tells when its lock did not protect it: it is kept twice, the second time with
// every bit inverted, so a reader that meets a half-made write sees two numbers that disagree.
class twin_counter {
 public:
  void increment() {
    ++count_;
    // Keeps the compiler from making one store of the two.
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
