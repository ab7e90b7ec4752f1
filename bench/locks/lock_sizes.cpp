// How much memory reader-writer locks take (BRAVO 5).
#include <fmt/core.h>
#include <malloc.h>

#include <stdexcept>

#include "locks/compare_locks.hpp"

namespace {

constexpr const char* description =
    "Bytes of memory that a lock takes (BRAVO 5): itself and what it allocates, on this machine "
    "and on one of 72 CPUs and 2 NUMA nodes, the paper's; what each thread that "
    "uses it has for it; and what a thread and a process have once, however many locks there are. "
    "A "
    "lock that allocates more than is expected is an error.";

struct options {
  void add_to(CLI::App&) {}
};

std::size_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void measure(const bench::contender& lock, const options&, bench::effort, bench::figures& found) {
  // The first of its kind may also make what threads and processes have once.
  lock.make_and_use([] {});
  const std::size_t before = heap_in_use();
  std::size_t after = 0;
  lock.make_and_use([&after] { after = heap_in_use(); });
  const bench::lock_size size = lock.size();
  // Alignment, and what malloc notes of each piece, come on top.
  constexpr std::size_t slack = 512;
  if (after > before + size.here + slack) {
    throw std::runtime_error(fmt::format("{} takes {} bytes, and {} was expected", lock.name(),
                                         after - before, size.here));
  }
  const auto tell = [&](const char* what, std::size_t bytes) {
    found.less_is_better("Size of a lock", what, "bytes", static_cast<double>(bytes));
  };
  tell("on this machine", size.here);
  tell("72 CPUs, 2 nodes", size.on_72_cpus_and_2_nodes);
  tell("for each thread that uses it", size.of_each_thread_for_each);
  tell("for each thread, once", size.of_each_thread);
  tell("for the process, once", size.of_the_process);
}

}  // namespace

int main(int argc, char** argv) {
  return bench::compare_locks(argc, argv, "lock_sizes", description, options{}, measure);
}
