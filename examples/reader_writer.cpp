// test_rwlock, section 5.3 of the BRAVO paper (after Desnoyers et al.): one thread only writes, the
// others only read. Shows how readers and a writer that pauses between writes share one lock.

#include <pthread.h>

#include "timed_threads.hpp"
#include "twin_counter.hpp"

namespace {

// A unit of work is one step of a countdown, which the compiler must not shorten.
void work(unsigned units) {
  volatile unsigned left = units;
  while (left > 0) left = left - 1;
}

struct work_units {
  unsigned read = 10;
  unsigned write = 10;
  unsigned pause = 1000;
};

}  // namespace

int main(int argc, char** argv) try {
  examples::settings chosen;
  work_units units;
  CLI::App app{
      "One writer beside --threads readers on one pthread_rwlock; an operation is one loop of "
      "either."};
  chosen.add_options(app);
  app.add_option("--read-work", units.read, "Units of work of a read")->capture_default_str();
  app.add_option("--write-work", units.write, "Units of work of a write")->capture_default_str();
  app.add_option("--pause", units.pause, "Units of work between two writes")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  examples::own_lines<pthread_rwlock_t> lock{PTHREAD_RWLOCK_INITIALIZER};
  examples::own_lines<examples::twin_counter> counter;

  const auto read = [&] {
    examples::require(pthread_rwlock_rdlock(&lock.value) == 0, "pthread_rwlock_rdlock failed");
    work(units.read);
    counter.value.value();
    examples::require(pthread_rwlock_unlock(&lock.value) == 0, "pthread_rwlock_unlock failed");
  };
  const auto write = [&] {
    examples::require(pthread_rwlock_wrlock(&lock.value) == 0, "pthread_rwlock_wrlock failed");
    work(units.write);
    counter.value.increment();
    examples::require(pthread_rwlock_unlock(&lock.value) == 0, "pthread_rwlock_unlock failed");
    work(units.pause);
  };

  examples::settings with_writer = chosen;
  ++with_writer.threads;
  const examples::outcome result = examples::run(with_writer, [&](unsigned thread) {
    return [&, writer = thread == 0] { writer ? write() : read(); };
  });

  const std::uint64_t writes = result.operations.front();
  examples::require(counter.value.value() == writes, "the count of the writes is wrong");
  fmt::print("reader_writer: {:.0f} operations per second ({:.0f} of them writes)\n",
             result.per_second(), static_cast<double>(writes) / result.seconds);
} catch (const std::exception& error) {
  return examples::failed("reader_writer", error);
}
