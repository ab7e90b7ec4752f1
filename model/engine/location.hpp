// SPDX-License-Identifier: Apache-2.0
// One atomic variable: what the exploration knows of it, and its stores in this execution.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/operation.hpp"
#include "engine/view.hpp"

namespace readmost::model {

// One store.
struct message {
  std::uint64_t value = 0;
  position place = 0;               // in the modification order
  const view* published = nullptr;  // what a thread learns that acquires it; null: nothing
  std::uint32_t step = 0;           // of the execution; 0: before the threads started
  std::uint8_t thread = 0;
  bool updated = false;  // a read-modify-write has read it, so no store may come in between
};

struct location {
  std::uintptr_t address = 0;
  std::uint32_t size = 0;

  // --- For a whole exploration.
  // More than one thread accesses it and one writes it. Accesses of other locations cannot be
  // noticed, and need not be scheduled.
  bool shared = false;
  std::uint8_t threads = 0;  // those that have accessed it, as bits
  bool written = false;
  unsigned index = 0;  // of its position in views

  // --- For one execution.
  std::uint32_t run = 0;  // its number
  bool retired = false;
  std::uint64_t value = 0;           // newest in memory (sequential, TSO) or in modification order
  message last{};                    // sequential, TSO: the store that made it
  std::vector<message> history;      // release/acquire: all of them, in the order of execution
  std::vector<std::uint32_t> steps;  // those that accessed it
  std::vector<std::uint32_t> queue_steps;  // those that accessed its futex queue
  std::uint32_t changes = 0;               // stores to it
};

// A load in a turn of a loop.
struct look {
  location* where;
  std::uint32_t changes;  // of the location until then, without the loading thread's own
  position place;         // of what was read (release/acquire)
};

}  // namespace readmost::model
