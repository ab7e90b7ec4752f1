// SPDX-License-Identifier: Apache-2.0
// A memory model: what a load may return, when a store becomes visible, what a fence does, and
// which operations can be swapped without a visible difference.
//
// The execution (execution.hpp) implements threads, futexes and time and asks the memory for the
// rest. A memory that counts the cycles of caches and cores could replace these; its search would
// then pick the actor whose time comes first.
#pragma once

#include <memory>
#include <string>

#include "engine/location.hpp"

namespace readmost::model {

class execution;
struct simulated_thread;

enum class memory_model : std::uint8_t {
  sequential,       // every store visible at once
  tso,              // x86: a store buffer per thread
  release_acquire,  // C++20 without load buffering; arm64
};
inline constexpr memory_model memory_models[] = {memory_model::sequential, memory_model::tso,
                                                 memory_model::release_acquire};
const char* name_of(memory_model model) noexcept;

enum class relation : std::uint8_t {
  independent,
  dependent,
  // The second is covered where it came first, unless it now reads what the first has stored.
  fresh_only,
};

class memory {
 public:
  virtual ~memory() = default;

  virtual void start(execution& run) = 0;
  // Carries the operation out and fills in its result.
  virtual void perform(execution& run, simulated_thread& who, operation& what) = 0;

  // Fills in `made`, which must be as constructed. It is no result, because in the one place where
  // speed matters it is built where it stays.
  virtual void footprint_of(const simulated_thread& who, const operation& what,
                            footprint& made) const;
  // How `second`, which another thread is about to do, relates to `first`, which has just happened.
  virtual relation relate(const footprint& first, const footprint& second) const = 0;
  // Whether `second` after `first` in an execution is a reason to try it before `first`.
  virtual bool race(const footprint& first, const footprint& second) const = 0;
  // Whether `second` knows that `first` happened: they are ordered in this execution.
  virtual bool orders(const footprint& first, const footprint& second) const = 0;
  // Whether another thread has made a store newer than the one that this look has read.
  virtual bool has_changed(const simulated_thread& who, const look& at) const = 0;

  // --- Where loads may return old values. The defaults are for memory with one value at a time.

  // Whether a load or update can read a store of step `since` or later.
  virtual bool can_read_since(const simulated_thread&, const operation&, std::uint32_t) const {
    return false;
  }
  // The place of the store that the latest operation has read from.
  virtual position read_place() const { return 0; }
  // The step of the store that the latest operation has read from, if that orders them.
  virtual std::uint32_t read_from() const { return 0; }

  // --- Where threads have store buffers. The defaults are for memory without.

  // Whether the operation need not wait for its thread's store buffer, or another's.
  virtual bool is_ready(const simulated_thread&, const operation&) const { return true; }
  virtual bool has_buffered(unsigned) const { return false; }
  virtual bool can_drain(const simulated_thread&) const { return false; }
  // Whether the operation waits until its thread's store buffer is empty.
  virtual bool drains(const operation&) const { return false; }
  // The oldest entry of a store buffer reaches memory; returns the step that stored it.
  virtual std::uint32_t drain(execution&, unsigned) { return 0; }
  // As if the compiler had moved the thread's last store behind the loads that follow it.
  virtual void sink_last_store(unsigned) {}
  virtual location* oldest_buffered(unsigned) const { return nullptr; }
  virtual bool is_late(unsigned) const { return false; }
  virtual std::string buffered(const execution&, unsigned) const { return {}; }
};

std::unique_ptr<memory> make_sequential();
std::unique_ptr<memory> make_tso();
std::unique_ptr<memory> make_release_acquire();

}  // namespace readmost::model
