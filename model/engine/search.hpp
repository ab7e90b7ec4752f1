// A search decides what happens next in an execution, and which execution comes next.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/execution.hpp"

namespace readmost::model {

class search {
 public:
  virtual ~search() = default;

  // At the start of an execution.
  virtual void start(execution& run) = 0;
  // Who acts next; nobody: the rest has been seen elsewhere. `since`: see execution::fresh_since().
  virtual actor choose(execution& run, actors ready, actor last, std::uint32_t& since) = 0;
  // Which of `outcomes` (at least 2) the step under way has.
  virtual std::uint32_t pick(std::uint32_t outcomes) = 0;
  // After a step.
  virtual void happened(execution& run) = 0;
  // After an execution: whether there is another one.
  virtual bool next() = 0;
  // Forgets everything: what is shared was not known.
  virtual void restart() = 0;
};

// Every execution that differs in more than the order of independent steps (dynamic partial-order
// reduction with source sets and sleep sets: Abdulla, Aronis, Jonsson, Sagonas, POPL 2014).
std::unique_ptr<search> make_exhaustive();
// Every execution with at most `surprises` steps that are not the expected ones: a switch from a
// thread that could go on, a store that stays in its buffer, a load of an old value.
std::unique_ptr<search> make_bounded(unsigned surprises);
// Every execution, without reduction: to check the others by.
std::unique_ptr<search> make_plain();
// Anybody at any time.
std::unique_ptr<search> make_random(std::uint64_t seed, std::uint64_t runs);
// Probabilistic concurrency testing (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010):
// random priorities that change at `depth` - 1 points of the execution.
std::unique_ptr<search> make_pct(std::uint64_t seed, std::uint64_t runs, unsigned depth);
// One execution, as close to this one as it can be.
std::unique_ptr<search> make_replay(std::vector<choice> schedule);

}  // namespace readmost::model
