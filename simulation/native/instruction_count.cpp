// SPDX-License-Identifier: Apache-2.0
#include "simulation/native/instruction_count.hpp"

#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <thread>

namespace readmost::simulation {

namespace {

volatile std::uint64_t steps = 0;

void count_step(int) {
  steps = steps + 1;
}

// Whether the processor stops the calling thread after each instruction.
void step([[maybe_unused]] bool wanted) {
#if defined(__x86_64__)
  constexpr unsigned long trap = 0x100;
  unsigned long flags = __builtin_ia32_readeflags_u64();
  flags = wanted ? flags | trap : flags & ~trap;
  __builtin_ia32_writeeflags_u64(flags);
#else
  throw std::runtime_error("instructions are counted on x86-64 only");
#endif
}

std::uint64_t instructions_of(const std::function<void(unsigned)>& repeat, unsigned times) {
  steps = 0;
  step(true);
  repeat(times);
  step(false);
  return steps;
}

// A process with one thread does without some atomic instructions.
void have_another_thread() {
  static const bool has = [] {
    std::thread([] {
      while (true) pause();
    }).detach();
    return true;
  }();
  static_cast<void>(has);
}

}  // namespace

double instructions_of_each(const std::function<void(unsigned)>& repeat) {
  have_another_thread();
  // By then every account of a lock has settled.
  constexpr unsigned before = 50'000;
  repeat(before);
  // Their difference is a multiple of the periods in the library, which are of 48 and 192 reads.
  constexpr unsigned few = 192;
  constexpr unsigned many = 4 * few;
  const auto former = signal(SIGTRAP, count_step);
  const auto less = static_cast<double>(instructions_of(repeat, few));
  const auto more = static_cast<double>(instructions_of(repeat, many));
  signal(SIGTRAP, former);
  return (more - less) / (many - few);
}

}  // namespace readmost::simulation
