// SPDX-License-Identifier: Apache-2.0
// How much memory reader-writer locks take (BRAVO 5).
#include <fmt/core.h>
#include <malloc.h>

#include <stdexcept>

#include "contenders/locks/contenders.hpp"
#include "harness/batches.hpp"

namespace {

using namespace std::chrono_literals;

constexpr const char* description =
    "Bytes of memory that a lock takes (BRAVO 5): itself and what it allocates, on this machine "
    "and on the paper's, with 72 CPUs and 2 NUMA nodes; per thread and lock; and once per thread "
    "and per process, whatever the number of locks. A lock that allocates more than expected is an "
    "error. And the time that it takes to make and destroy a lock.";

std::size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void measure(const bench::contender& lock, bench::effort effort, bench::figures& found) {
  // The first lock of its kind may also allocate the memory of threads and of the process.
  lock.make_and_use([] {});
  const std::size_t before = heap_in_use();
  std::size_t after = 0;
  lock.make_and_use([&after] { after = heap_in_use(); });
  const bench::lock_size size = lock.size();
  // For alignment and malloc's headers.
  constexpr std::size_t slack = 512;
  if (after > before + size.here + slack) {
    throw std::runtime_error(fmt::format("{} allocates {} bytes; at most {} were expected",
                                         lock.name(), after - before, size.here));
  }
  const auto add = [&](const char* what, std::size_t bytes) {
    found.less_is_better("Size of a lock", what, "bytes", static_cast<double>(bytes));
  };
  add("on this machine", size.here);
  add("72 CPUs, 2 nodes", size.on_72_cpus_and_2_nodes);
  add("for each thread that uses it", size.of_each_thread_for_each);
  add("for each thread, once", size.of_each_thread);
  add("for the process, once", size.of_the_process);
  found.less_is_better(
      "Make and destroy a lock", "time", "ns",
      bench::usual_cost([&](std::uint64_t times) { lock.make_times(times); }, effort.time(100ms)));
}

const bench::registration here("lock_sizes",
                               [] { return bench::benchmark_of_locks(description, measure); });

}  // namespace
