// SPDX-License-Identifier: Apache-2.0
// test_rwlock, section 5.3 of the BRAVO paper (after Desnoyers et al.): one thread only writes, the
// others only read. Shows how readers and a writer that pauses between writes share one lock.

#include <pthread.h>

#include <cmath>

#include "timed_threads.hpp"
#include "twin_counter.hpp"

namespace {

// A unit of work is one step of a countdown, which the compiler must not shorten.
void work(unsigned units) {
  volatile unsigned left = units;
  while (left > 0) left = left - 1;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned read_work = 10;
  unsigned write_work = 10;
  unsigned pause = 1000;
  const examples::program program{
      "reader_writer",
      "One writer beside --threads readers on one pthread_rwlock; an operation is one loop of "
      "either.",
      {{"--read-work", &read_work, "Units of work of a read"},
       {"--write-work", &write_work, "Units of work of a write"},
       {"--pause", &pause, "Units of work between two writes"}}};
  return program.main(argc, argv, [&](examples::settings chosen) {
    examples::own_lines<pthread_rwlock_t> lock{PTHREAD_RWLOCK_INITIALIZER};
    examples::own_lines<examples::twin_counter> counter;
    const auto read = [&] {
      examples::require(pthread_rwlock_rdlock(&lock.value) == 0, "pthread_rwlock_rdlock failed");
      work(read_work);
      counter.value.value();
      examples::require(pthread_rwlock_unlock(&lock.value) == 0, "pthread_rwlock_unlock failed");
    };
    const auto write = [&] {
      examples::require(pthread_rwlock_wrlock(&lock.value) == 0, "pthread_rwlock_wrlock failed");
      work(write_work);
      counter.value.increment();
      examples::require(pthread_rwlock_unlock(&lock.value) == 0, "pthread_rwlock_unlock failed");
      work(pause);
    };

    ++chosen.threads;
    auto result = examples::run(chosen, [&](unsigned thread) {
      return [&, writer = thread == 0] { writer ? write() : read(); };
    });
    const std::uint64_t writes = result.operations.front();
    examples::require(counter.value.value() == writes, "the count of the writes is wrong");
    const double per_second = static_cast<double>(writes) / result.seconds;
    result.remark = " (" + std::to_string(std::llround(per_second)) + " of them writes)";
    return result;
  });
}
