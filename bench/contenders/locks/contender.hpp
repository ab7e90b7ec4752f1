// SPDX-License-Identifier: Apache-2.0
// The interfaces under which the benchmarks of reader-writer locks use a lock. A virtual function
// runs a whole loop and nothing inside the loop is virtual, so that a lock's inline functions are
// inlined. contender_of.hpp implements the interfaces for any lock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "contenders/locks/size_of.hpp"
#include "contenders/locks/string_table.hpp"

namespace bench {

// Where a thread of a ring learns that it is its turn.
struct alignas(128) ring_place {
  std::atomic<std::uint64_t> turn{0};
};

// A lock and a counter that it protects, each on cache lines of its own. The loops run until
// `stopped` is set and return the number of iterations; each measured thread calls one of them. A
// loop throws at its end if a read saw a half-made write.
class guarded_counter {
 public:
  using clock = std::chrono::steady_clock;
  using action = std::function<void()>;
  // Is called after each section with the times at which the lock was asked for and acquired.
  using observer = std::function<void(clock::time_point asked, clock::time_point acquired)>;

  virtual ~guarded_counter() = default;

  // RWBench (BRAVO 5.4): decides at random, by `seed`, with that probability for a write, which
  // `writes` counts; 10 steps of the generator inside the section, 0 to 199 outside.
  virtual std::uint64_t rwbench(unsigned seed, double probability, std::uint64_t& writes,
                                const std::atomic<bool>& stopped) = 0;

  // Counts down from so many units of work (work.hpp) inside the section and outside.
  virtual std::uint64_t read(unsigned inside, unsigned outside,
                             const std::atomic<bool>& stopped) = 0;
  virtual std::uint64_t write(unsigned inside, unsigned outside,
                              const std::atomic<bool>& stopped) = 0;

  // Calls before() ahead of each section and inside() in it.
  virtual std::uint64_t read_and_call(const action& before, const action& inside,
                                      const std::atomic<bool>& stopped) = 0;
  virtual std::uint64_t write_and_call(const action& before, const action& inside,
                                       const std::atomic<bool>& stopped) = 0;
  // Calls before() ahead of each section.
  virtual std::uint64_t read_timed(const action& before, const observer& observe,
                                   const std::atomic<bool>& stopped) = 0;
  virtual std::uint64_t write_timed(const action& before, const observer& observe,
                                    const std::atomic<bool>& stopped) = 0;

  // Waits for its turn at `own`, reads, and gives the turn to `next`. Waits busily, and calls
  // sched_yield(2) each time round if `polite`.
  virtual std::uint64_t read_by_turns(ring_place& own, ring_place& next, bool polite,
                                      const std::atomic<bool>& stopped) = 0;

  // So many sections, each with `tens` times ten instructions that wait for one another.
  virtual void read_times(std::uint64_t times, unsigned tens) = 0;
  virtual void write_times(std::uint64_t times, unsigned tens) = 0;

  // Sections of a read lock that is upgraded, or of a write lock that is downgraded; false if the
  // lock has no such operations.
  virtual bool upgrade_times(std::uint64_t times) = 0;
  virtual bool downgrade_times(std::uint64_t times) = 0;

  // The number of writes that the counter shows, read under the write lock.
  virtual std::uint64_t written() = 0;
};

// Throws unless the counter has come to `writes`.
void require_no_write_lost(guarded_counter& counter, std::uint64_t writes);

// A lock and a hash table that it protects.
class guarded_table {
 public:
  virtual ~guarded_table() = default;

  // For use while no other thread uses the table.
  virtual string_table& table() = 0;

  // Looks up random keys below `keys`. Throws at the end if a key was missing or had another key's
  // value.
  virtual std::uint64_t look_up(unsigned seed, std::uint64_t keys,
                                const std::atomic<bool>& stopped) = 0;
  // Inserts the keys from `next` on and leaves the key after the last in `next`. Pauses while the
  // table has `most` elements, so that erasing can keep up.
  virtual std::uint64_t insert(std::uint64_t& next, std::size_t most,
                               const std::atomic<bool>& stopped) = 0;
  // Erases the keys from `next` on. Retries a key that is not there yet; counts only erased keys.
  virtual std::uint64_t erase(std::uint64_t& next, const std::atomic<bool>& stopped) = 0;
};

class contender {
 public:
  virtual ~contender() = default;

  virtual std::string name() const = 0;
  virtual std::unique_ptr<guarded_counter> make_counter() const = 0;
  virtual std::unique_ptr<guarded_table> make_table() const = 0;

  virtual lock_size size() const = 0;
  // Makes a lock, locks it in both modes, and calls meanwhile() before destroying it.
  virtual void make_and_use(const std::function<void()>& meanwhile) const = 0;
  // Makes and destroys a lock so many times.
  virtual void make_times(std::uint64_t times) const = 0;
};

}  // namespace bench
