// SPDX-License-Identifier: Apache-2.0
// RWBench, section 5.4 of the BRAVO paper (Dice and Kogan, USENIX ATC 2019): each thread decides by
// lot whether to write, works 10 steps of a random number generator under the lock, then 0 to 199
// steps without it.

#include <pthread.h>

#include <random>
#include <vector>

#include "timed_threads.hpp"
#include "twin_counter.hpp"

int main(int argc, char** argv) {
  double probability = 0.001;
  const examples::program program{
      "rwbench",
      "RWBench of the BRAVO paper over one pthread_rwlock; an operation is one loop.",
      {{"--probability", &probability, "Probability that a loop writes", 0, 1}}};
  return program.main(argc, argv, [&](const examples::settings& chosen) {
    examples::own_lines<pthread_rwlock_t> lock{PTHREAD_RWLOCK_INITIALIZER};
    examples::own_lines<examples::twin_counter> counter;
    std::vector<examples::own_lines<std::uint64_t>> writes(chosen.threads);

    auto result = examples::run(chosen, [&](unsigned thread) {
      return [&, thread, random = std::mt19937{thread + 1},
              writes_now = std::bernoulli_distribution{probability},
              steps_outside = std::uniform_int_distribution<unsigned>{0, 199}]() mutable {
        // Each step has an effect (it advances the generator), so the compiler cannot drop it.
        const auto work = [&](unsigned steps) {
          while (steps-- > 0) random();
        };
        if (writes_now(random)) {
          examples::require(pthread_rwlock_wrlock(&lock.value) == 0,
                            "pthread_rwlock_wrlock failed");
          work(10);
          counter.value.increment();
          ++writes[thread].value;
        } else {
          examples::require(pthread_rwlock_rdlock(&lock.value) == 0,
                            "pthread_rwlock_rdlock failed");
          work(10);
          counter.value.value();
        }
        examples::require(pthread_rwlock_unlock(&lock.value) == 0, "pthread_rwlock_unlock failed");
        work(steps_outside(random));
      };
    });

    std::uint64_t written = 0;
    for (const auto& count : writes) written += count.value;
    examples::require(counter.value.value() == written,
                      "a write is lost: two writers were in at once");
    return result;
  });
}
