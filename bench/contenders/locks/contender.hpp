// The interfaces under which the benchmarks of reader-writer locks use a lock. Whole loops are
// behind the virtual functions, nothing virtual is inside of them: what a lock has inline stays
// inline. contender_of.hpp makes a contender of any lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "percentiles.hpp"
#include "size_of.hpp"
#include "string_table.hpp"

namespace bench {

// Where a thread of a ring is told that it is its turn.
struct alignas(128) ring_place {
  std::atomic<std::uint64_t> turn{0};
};

// A lock and a counter that it protects, each on lines of its own. The loops run until they are
// told to stop and return how often they went round; each thread that is measured calls one of
// them. A read that meets a half-made write is an error, thrown once the loop is over.
class guarded_counter {
 public:
  virtual ~guarded_counter() = default;

  // RWBench (BRAVO 5.4): lots drawn by `seed` decide with that probability for a write, which
  // `writes` counts; 10 steps of the generator inside, 0 to 199 outside.
  virtual std::uint64_t rwbench(unsigned seed, double probability, std::uint64_t& writes,
                                const std::atomic<bool>& stopped) = 0;

  // Counts down from so many units inside and outside (see work.hpp).
  virtual std::uint64_t read(unsigned inside, unsigned outside,
                             const std::atomic<bool>& stopped) = 0;
  virtual std::uint64_t write(unsigned inside, unsigned outside,
                              const std::atomic<bool>& stopped) = 0;

  // Calls inside() in each section.
  virtual std::uint64_t read_and_stay(const std::function<void()>& inside,
                                      const std::atomic<bool>& stopped) = 0;
  // Calls outside() after each section; `waits` gets how long each lock took.
  virtual std::uint64_t write_and_wait(const std::function<void()>& outside, percentiles& waits,
                                       const std::atomic<bool>& stopped) = 0;

  // Waits for its turn at `mine`, reads, and gives the turn to `next`. Waiting is busy, with
  // sched_yield(2) in each look if `polite`.
  virtual std::uint64_t read_by_turns(ring_place& mine, ring_place& next, bool polite,
                                      const std::atomic<bool>& stopped) = 0;

  // So many sections without a look at anything else; inside, that many times ten instructions that
  // wait for one another.
  virtual void read_times(std::uint64_t times, unsigned tens) = 0;
  virtual void write_times(std::uint64_t times, unsigned tens) = 0;

  // How many writes there have been, as the counter has it, under the write lock.
  virtual std::uint64_t written() = 0;
};

// Throws unless the counter has come to `writes`.
void require_no_write_lost(guarded_counter& counter, std::uint64_t writes);

// A lock and a hash table that it protects.
class guarded_table {
 public:
  virtual ~guarded_table() = default;

  // To be used while no other thread is at it.
  virtual string_table& table() = 0;

  // Looks up keys below `keys`, drawn by lots. A key that is not there, or has another's value, is
  // an error.
  virtual std::uint64_t look_up(unsigned seed, std::uint64_t keys,
                                const std::atomic<bool>& stopped) = 0;
  // Inserts from the key `next` on, and makes it the one after the last. Pauses while more than
  // `most` are there: erasing has to keep up.
  virtual std::uint64_t insert(std::uint64_t& next, std::size_t most,
                               const std::atomic<bool>& stopped) = 0;
  // Erases from the key `next` on; counts those that were there only, and stays at the first that
  // was not.
  virtual std::uint64_t erase(std::uint64_t& next, const std::atomic<bool>& stopped) = 0;
};

class contender {
 public:
  virtual ~contender() = default;

  virtual std::string name() const = 0;
  virtual std::unique_ptr<guarded_counter> make_counter() const = 0;
  virtual std::unique_ptr<guarded_table> make_table() const = 0;

  virtual lock_size size() const = 0;
  // Makes one, locks it in both ways, and calls that before it is gone.
  virtual void make_and_use(const std::function<void()>& meanwhile) const = 0;
};

}  // namespace bench
