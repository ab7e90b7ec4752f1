// SPDX-License-Identifier: Apache-2.0
// An operation of a simulated thread, and its footprint, by which other threads may notice it.
#pragma once

#include <atomic>
#include <cstdint>
#include <source_location>

#include "engine/arithmetic.hpp"
#include "engine/limits.hpp"

namespace readmost::model {

struct location;

enum class kind : std::uint8_t {
  start,  // the beginning of a thread's body
  load,
  store,
  update,     // read-modify-write
  compare,    // compare-and-swap
  fence,      // seq_cst, of the thread itself
  interrupt,  // a membarrier makes another thread run a full fence
  futex_wait,
  awake,  // the end of a futex_wait, by a wake-up or at the deadline
  futex_wake,
  yield,    // a turn of a loop that spins until another thread does something
  preempt,  // the scheduler may switch the thread out and in again
  retire,   // the end of a location's life
  drain,    // a store buffer writes its oldest entry to memory
};

struct operation {
  kind what = kind::start;
  arithmetic how = arithmetic::exchange;
  std::memory_order order = std::memory_order_seq_cst;
  std::memory_order failure = std::memory_order_relaxed;
  location* where = nullptr;
  std::uint64_t operand = 0;   // what to store, to add and so on; futex_wake: how many to wake
  std::uint64_t expected = 0;  // compare, futex_wait
  std::uint32_t mask = 0;      // futex
  unsigned target = 0;         // interrupt
  std::uint32_t access = 0;    // its number among the thread's accesses
  std::uint64_t result = 0;    // what was read; futex_wake: how many were woken
  bool success = false;        // compare: changed; futex_wait: sleeps; awake: woken;
                               // preempt: switched
  std::source_location at;
};

constexpr bool is_acquire(std::memory_order order) noexcept {
  return order == std::memory_order_acquire || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
constexpr bool is_release(std::memory_order order) noexcept {
  return order == std::memory_order_release || order == std::memory_order_acq_rel ||
         order == std::memory_order_seq_cst;
}
constexpr bool is_seq_cst(std::memory_order order) noexcept {
  return order == std::memory_order_seq_cst;
}

// Two operations of different threads whose footprints do not conflict can be swapped.
struct footprint {
  location* where = nullptr;  // the memory touched
  location* queue = nullptr;  // the futex whose sleepers are touched
  std::uint64_t looks = 0;    // a bit for each location whose newest value it finds out
  bool reads = false;
  bool writes = false;
  bool updates = false;  // is a read-modify-write, though it may turn out not to write
  bool retires = false;
  bool seq_cst = false;       // takes part in the one order of all seq_cst operations
  bool fences = false;        // ... and is ordered with all of them, whatever their location
  bool fills_buffer = false;  // a store that stays in its thread's buffer
  bool is_late = false;       // a store that the compiler may delay, which no membarrier waits for
  std::uint8_t thread = 0;    // the one whose operation it is
  std::int8_t interrupts = -1;  // another thread, which runs a fence
};

}  // namespace readmost::model
