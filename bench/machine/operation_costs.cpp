// What the machine's operations cost beside an ordinary instruction (RCU Table 1).
#include <optional>

#include "comparison.hpp"
#include "rcu/machine_costs.hpp"

namespace {

constexpr const char* description =
    "What operations of this machine cost, in nanoseconds, in ordinary instructions and in clock "
    "cycles: ordinary ones, loads from each cache and from memory, atomic ones on a line of one's "
    "own, and on a line that another CPU wrote last (RCU Table 1). Instructions: additions that "
    "do not need one another, which the processor executes several at a time. All else: each needs "
    "the one before; loads follow pointers in random order through half of the first and of the "
    "second cache, four times the second, and four times the last. Transfers: a partner on "
    "another CPU has written 256 lines, which are then used in random order.";

class table {
 public:
  table(const bench::machine_costs& costs, bench::figures& found) : costs_(costs), found_(found) {}

  void add(const char* operation, double ns) {
    found_.told("Operation costs", operation, "ns", ns);
    found_.told("Operation costs in instructions", operation, "instructions",
                ns / costs_.instruction);
    found_.told("Operation costs in clock cycles", operation, "cycles", ns / costs_.clock_cycle);
  }
  void add(const char* operation, std::optional<double> ns) {
    if (ns) add(operation, *ns);
  }

 private:
  const bench::machine_costs& costs_;
  bench::figures& found_;
};

void measure(const std::string&, bench::effort chosen, bench::figures& found) {
  const bench::machine_costs costs = bench::measure_machine(bench::sample_count{chosen.times(101)});
  table of(costs, found);
  of.add("instruction", costs.instruction);
  of.add("clock cycle", costs.clock_cycle);
  of.add("L1 cache hit", costs.l1_hit);
  of.add("L2 cache hit", costs.l2_hit);
  of.add("last cache hit", costs.last_cache_hit);
  of.add("main memory", costs.main_memory);
  of.add("atomic increment", costs.atomic_increment);
  of.add("cmpxchg atomic increment", costs.cmpxchg_increment);
  of.add("store and memory fence", costs.fence);
  of.add("CPU-local lock", costs.local_lock);
  of.add("atomic increment, cache transfer", costs.increment_transfer);
  of.add("cmpxchg, blind cache transfer", costs.blind_transfer);
  of.add("cmpxchg, cache transfer and invalidate", costs.invalidating_transfer);
  of.add("lock, cache transfer", costs.lock_transfer);
  of.add("atomic increment, contended by two CPUs", costs.contended_increment);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::compare(argc, argv, {"operation_costs", description, {"this machine"}, measure});
}
