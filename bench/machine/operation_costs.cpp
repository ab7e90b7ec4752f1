// SPDX-License-Identifier: Apache-2.0
// The cost of the machine's operations beside an ordinary instruction (RCU Table 1).
#include <optional>

#include "harness/benchmark.hpp"
#include "machine/costs.hpp"

namespace {

constexpr const char* description =
    "The cost of operations of this machine, in nanoseconds, in ordinary instructions and in clock "
    "cycles: ordinary ones, loads from each cache and from memory, atomic ones on a line in the "
    "own "
    "cache and on a line that another CPU wrote last (RCU Table 1). Instructions are independent "
    "additions, of which the processor executes several at a time. All other operations need the "
    "one before; loads follow pointers in random order through half of the first and of the second "
    "cache, four times the second, and four times the last. For transfers, a partner on another "
    "CPU has written 256 lines, which are then used in random order.";

void measure(const bench::operation_costs& costs, bench::figures& found) {
  const auto add = [&](const char* operation, std::optional<double> ns) {
    if (!ns) return;
    found.neutral("Operation costs", operation, "ns", *ns);
    found.neutral("Operation costs in instructions", operation, "instructions",
                  *ns / costs.instruction);
    found.neutral("Operation costs in clock cycles", operation, "cycles", *ns / costs.clock_cycle);
  };
  add("instruction", costs.instruction);
  add("clock cycle", costs.clock_cycle);
  add("L1 cache hit", costs.l1_hit);
  add("L2 cache hit", costs.l2_hit);
  add("last cache hit", costs.last_cache_hit);
  add("main memory", costs.main_memory);
  add("atomic increment", costs.atomic_increment);
  add("cmpxchg atomic increment", costs.cmpxchg_increment);
  add("store and memory fence", costs.fence);
  add("CPU-local lock", costs.local_lock);
  add("atomic increment, cache transfer", costs.increment_transfer);
  add("cmpxchg, blind cache transfer", costs.blind_transfer);
  add("cmpxchg, cache transfer and invalidate", costs.invalidating_transfer);
  add("lock, cache transfer", costs.lock_transfer);
  add("atomic increment, contended by two CPUs", costs.contended_increment);
}

const bench::registration here("operation_costs", [] {
  return bench::benchmark{
      .description = description,
      .contenders = {"this machine"},
      .measure = [](const std::string&, bench::effort chosen, bench::figures& found) {
        measure(bench::measure_operations({chosen.times(101)}), found);
      }};
});

}  // namespace
