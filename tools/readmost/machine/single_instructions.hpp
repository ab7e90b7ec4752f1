// SPDX-License-Identifier: Apache-2.0
// Operations that are one instruction each, to be measured among many of their kind.
#pragma once

#include "machine/instruction_cost.hpp"

namespace readmost::command {

// At addresses that the instructions themselves contain: a word on the stack is reached through the
// references of a lambda, by further loads.
inline constinit word loaded_word;
inline constinit word stored_word;
inline constinit word changed_word;

inline std::uint32_t load_of(const word& which) {
  std::uint32_t value = which.value.load(std::memory_order_relaxed);
  asm volatile("" : "+r"(value));
  return value;
}
// With a test and a branch, which the statement keeps compilers from doing without.
inline void tested_load_of(const word& which) {
  if (load_of(which) == 1) [[unlikely]] {
    asm volatile("" ::: "memory");
  }
}

// What lies between the accesses of a lock: additions, each with a test and a branch that is not
// taken, which many processors execute as one. The additions are to eight registers in turn, so
// that none needs the result of one of the seven before it. A processor may add constants for
// nothing, so what is added is none.
#if defined(__x86_64__)
inline constexpr int instructions_of_unit = 3;
#else
inline constexpr int instructions_of_unit = 2;  // tests and branches by one
#endif
inline constexpr int plain_units = 80;
inline constexpr int plain_instructions = plain_units * instructions_of_unit;
inline constexpr auto plain = [] {
  std::uint64_t one = 1;
  asm volatile("" : "+r"(one));
  const auto add = [&one](std::uint64_t& sum) {
    sum += one;
    asm volatile("" : "+r"(sum), "+r"(one));
    if (one == 0) [[unlikely]] {
      asm volatile("" ::: "memory");
    }
  };
  std::uint64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
#pragma GCC unroll 32
  for (int i = 0; i < plain_units / 8; ++i) {
    add(a), add(b), add(c), add(d), add(e), add(f), add(g), add(h);
  }
};

inline constexpr auto load = [] { load_of(loaded_word); };
inline constexpr auto tested_load_of_changed = [] { tested_load_of(changed_word); };
inline constexpr auto store = [] {
  stored_word.value.store(1, std::memory_order_relaxed);
  platform::light_fence();
};
inline constexpr auto change = [] { changed_word.value.fetch_add(1); };

}  // namespace readmost::command
