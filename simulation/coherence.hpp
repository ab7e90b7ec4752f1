// SPDX-License-Identifier: Apache-2.0
// Cache lines, and what an access of one costs.
//
// The protocol is MESI with a directory for each line: one CPU owns the line, or any number have
// copies, or none has it. A line serves one change of owner at a time: requests wait in the order
// in which they come. While a request is on its way to the owner, a share of the time that the
// transfer takes, the owner goes on to use the line: that is why a compare-and-swap that has failed
// mostly succeeds the second time, however many others wait. Reads of a line that nobody owns
// overlap. Caches have no limit of size. Transfers take a random share longer or shorter
// (`spread` in a machine file), and requests reach the owner sooner or later: CPUs that contend for
// a line would fall into step otherwise, as real ones do not.
#pragma once

#include <bitset>
#include <cstdint>
#include <deque>
#include <source_location>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "simulation/event_queue.hpp"
#include "simulation/machine_description.hpp"
#include "simulation/random_numbers.hpp"

namespace readmost::simulation {

// The time for which a CPU owns a line.
struct ownership {
  static constexpr instant for_good = ~instant{0};

  unsigned cpu;
  instant from;
  instant until = for_good;  // another CPU's request reaches it
};

// The transfers of a line for which one place in the sources asked.
struct asking_place {
  std::source_location where;
  std::uint64_t transfers;
  duration waited;
};

struct line {
  // In their order. All but the last end; those that are over are taken off.
  std::deque<ownership> owners;
  std::bitset<most_cpus> copies;  // of CPUs that do not own it
  std::bitset<most_cpus> former;  // that the last write took it from
  instant invalidated = 0;        // when that write's request reached them
  // Copies that are on their way: by CPU, and when they arrive.
  std::vector<std::pair<unsigned, instant>> arriving;
  instant busy_until = 0;

  // For reports.
  std::vector<asking_place> places;  // that CPUs waited at
};

// When an access takes effect, and when the CPU goes on.
struct served {
  instant effect;
  instant end;
};

struct hot_line {
  std::uintptr_t address;
  std::uint64_t transfers;
  duration waited;                   // by CPUs, for these transfers
  std::vector<asking_place> places;  // the worst first
};

class coherence {
 public:
  // `seed`: of the times that transfers take.
  explicit coherence(const machine_description& on, std::uint64_t seed = 1)
      : on_(on), random_(seed) {}

  served read(unsigned cpu, const void* address, instant now, std::source_location at);
  // Makes the CPU the owner. `when_owned`: the cost if it is already.
  served write(unsigned cpu, const void* address, instant now, duration when_owned,
               std::source_location at);

  // Once no request is on its way.
  bool owns(unsigned cpu, const void* address) const;
  bool has(unsigned cpu, const void* address) const;
  // CPUs whose cache had the line until its owner got it for the last write.
  std::bitset<most_cpus> copies_before_last_write(const void* address) const;
  // Of all lines that CPUs have waited for since the last reset, the worst first.
  std::vector<hot_line> hottest(std::size_t most) const;
  void reset_counts();
  // Fails unless an owned line has no copies elsewhere; for tests.
  std::string fault() const;

 private:
  line& line_of(const void* address, instant now);
  // The ownership that lets the CPU use the line now, or as soon as the line is there.
  static const ownership* usable_by(const line& of, unsigned cpu, instant now);
  // The time from `start` in which the last owner gives the line to the CPU.
  duration take_from_owner(line& of, unsigned cpu, instant start);
  // What a transfer takes that usually takes `latency`.
  duration one_time(duration latency);
  // The part of a transfer after which its request has reached the CPUs that have the line.
  duration kept_of(duration latency);
  void count(line& of, duration waited, std::source_location at);

  const machine_description& on_;
  random_numbers random_;
  std::unordered_map<std::uintptr_t, line> lines_;
};

}  // namespace readmost::simulation
