// One atomic variable: what is known of it for all executions, and its stores in this one.
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
  const view* published = nullptr;  // what who acquires it comes to know; null: nothing
  std::uint32_t step = 0;           // of the execution; 0: before the threads started
  std::uint8_t thread = 0;
  bool updated = false;  // a read-modify-write has read it: nothing may come in between
};

struct location {
  std::uintptr_t address = 0;
  std::uint32_t size = 0;

  // --- For a whole exploration.
  // More than one thread accesses it and one writes it. Other accesses are nobody else's business:
  // they need not be scheduled.
  bool shared = false;
  std::uint8_t threads = 0;  // that have accessed it, as bits
  bool written = false;
  unsigned index = 0;  // of its position in views

  // --- For one execution.
  std::uint32_t run = 0;  // which one
  bool retired = false;
  std::uint64_t value = 0;           // newest in memory (sequential, TSO) or in modification order
  message last{};                    // sequential, TSO: the store that made it
  std::vector<message> history;      // release/acquire: all of them, in the order of execution
  std::vector<std::uint32_t> steps;  // that accessed it
  std::vector<std::uint32_t> queue_steps;  // that touched the futex queue
  std::uint32_t changes = 0;               // stores to it
};

// What a turn of a loop has read.
struct look {
  location* where;
  std::uint32_t changes;  // of the location by then, without those of the thread that looks
  position place;         // of what was read (release/acquire)
};

}  // namespace readmost::model
