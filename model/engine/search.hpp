// SPDX-License-Identifier: Apache-2.0
// A search chooses the next step of an execution, and the next execution.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/execution.hpp"

namespace readmost::model {

class search {
 public:
  virtual ~search() = default;

  // Called at the start of an execution.
  virtual void start(execution& run) = 0;
  // Returns the next actor, or `nobody` if other executions cover the rest. For `since` see
  // execution::fresh_since().
  virtual actor choose(execution& run, actors ready, actor last, std::uint32_t& since) = 0;
  // Chooses one of `outcomes` (at least 2) for the step in progress.
  virtual std::uint32_t pick(std::uint32_t outcomes) = 0;
  // Called after a step.
  virtual void happened(execution& run) = 0;
  // Called after an execution; returns whether there is another one.
  virtual bool next() = 0;
  // Starts again, because another location turned out to be shared.
  virtual void restart() = 0;
};

// Every execution that differs in more than the order of independent steps (dynamic partial-order
// reduction with source sets and sleep sets: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014).
std::unique_ptr<search> make_exhaustive();
// Every execution with at most `surprises` unexpected steps: a switch from a thread that could go
// on, a store that stays in its buffer, a load of an old value.
std::unique_ptr<search> make_bounded(unsigned surprises);
// Every execution, without reduction, to check the other searches against.
std::unique_ptr<search> make_plain();
// Chooses any actor at any time.
std::unique_ptr<search> make_random(std::uint64_t seed, std::uint64_t runs);
// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010):
// random priorities that change at `depth` - 1 points of the execution.
std::unique_ptr<search> make_pct(std::uint64_t seed, std::uint64_t runs, unsigned depth);
// One execution, as close to the schedule as possible.
std::unique_ptr<search> make_replay(std::vector<choice> schedule);

}  // namespace readmost::model
