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

// What a lock's functions execute besides atomics, in about their shares: a load, three additions,
// a test, and a branch that is not taken. Many processors execute the last two as one. The
// additions are to six registers in turn, so that none needs the result of one of the five before
// it. A processor may add constants for nothing, so what is added is none.
#if defined(__x86_64__)
inline constexpr int instructions_of_unit = 6;
#else
inline constexpr int instructions_of_unit = 5;  // tests and branches by one
#endif
inline constexpr int mixed_units = 40;
inline constexpr int mixed_instructions = mixed_units * instructions_of_unit;
inline constexpr auto mixed = [] {
  std::uint64_t one = 1;
  asm volatile("" : "+r"(one));
  const auto unit = [&one](std::uint64_t& first, std::uint64_t& second, std::uint64_t& third) {
    load_of(loaded_word);
    first += one, second += one, third += one;
    asm volatile("" : "+r"(first), "+r"(second), "+r"(third), "+r"(one));
    if (one == 0) [[unlikely]] {
      asm volatile("" ::: "memory");
    }
  };
  std::uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6;
  asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
#pragma GCC unroll 32
  for (int i = 0; i < mixed_units / 2; ++i) unit(a, b, c), unit(d, e, f);
};

inline constexpr auto load = [] { load_of(loaded_word); };
inline constexpr auto tested_load_of_changed = [] { tested_load_of(changed_word); };
inline constexpr auto store = [] {
  stored_word.value.store(1, std::memory_order_relaxed);
  platform::light_fence();
};
inline constexpr auto change = [] { changed_word.value.fetch_add(1); };

}  // namespace readmost::command
