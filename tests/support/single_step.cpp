// SPDX-License-Identifier: Apache-2.0
#include "support/single_step.hpp"

#include <link.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

namespace test {

namespace {

struct session {
  const machine_code& where;
  const std::function<bool(std::size_t)>& at_step;
  std::size_t steps = 0;
  bool goes_on = true;

  void step() {
    const int before = errno;
    goes_on = at_step(steps++);
    errno = before;
  }
};

// The session of the calling thread, read by the signal handler.
thread_local session* volatile current = nullptr;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::abort();
}

void install(void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action{};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGTRAP, &action, nullptr) != 0) fail("sigaction");
}

}  // namespace

machine_code code_around(const void* address) {
  struct search {
    std::uintptr_t wanted;
    machine_code found;
  } search{reinterpret_cast<std::uintptr_t>(address), {0, 0}};
  dl_iterate_phdr(
      [](dl_phdr_info* file, std::size_t, void* argument) {
        auto& s = *static_cast<struct search*>(argument);
        for (int i = 0; i < file->dlpi_phnum; ++i) {
          const auto& segment = file->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
          const std::uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
          const machine_code code{begin, begin + segment.p_memsz};
          if (code.contains(s.wanted)) s.found = code;
        }
        return s.found.end != 0 ? 1 : 0;
      },
      &search);
  if (search.found.end == 0) {
    std::fprintf(stderr, "code_around: %p is in no loaded file's code\n", address);
    std::abort();
  }
  return search.found;
}

#if defined(__x86_64__)

namespace {

constexpr greg_t trap_flag = 0x100;

// The kernel clears the flag for the handler itself, and restores it from the context.
void on_trap(int, siginfo_t*, void* context) {
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  session* const s = current;
  if (s != nullptr && s->where.contains(static_cast<std::uintptr_t>(registers[REG_RIP]))) s->step();
  // Without a session this is a thread that a stepped one started.
  if (s == nullptr || !s->goes_on) registers[REG_EFL] &= ~trap_flag;
}

// The space below the stack pointer may be in use.
inline void set_trap_flag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
          : "cc", "memory");
}
inline void clear_trap_flag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), "
      "%%rsp" ::
          : "cc", "memory");
}

}  // namespace

std::size_t step_through(const machine_code& where, const std::function<void()>& body,
                         const std::function<bool(std::size_t)>& at_step) {
  install(on_trap);
  session s{where, at_step};
  current = &s;
  set_trap_flag();
  body();
  clear_trap_flag();
  current = nullptr;
  return s.steps;
}

bool interrupt_at(std::size_t step, const machine_code& where, const std::function<void()>& body,
                  const std::function<void()>& action) {
  bool called = false;
  step_through(where, body, [&](std::size_t n) {
    if (n < step) return true;
    called = true;
    action();
    return false;
  });
  return called;
}

bool ends_within(std::size_t steps, const machine_code& where, const std::function<void()>& body) {
  return !interrupt_at(steps, where, body, [] {});
}

#else

namespace {

constexpr std::size_t most_interruptions = 3'000;
constexpr long longest_delay = 30'000;  // nanoseconds

void start_timer(timer_t timer) {
  static thread_local std::minstd_rand random{static_cast<unsigned>(gettid())};
  itimerspec delay{};
  delay.it_value.tv_nsec = 1 + static_cast<long>(random() % longest_delay);
  if (timer_settime(timer, 0, &delay, nullptr) != 0) fail("timer_settime");
}

thread_local timer_t timer_of_session;

void on_timer(int, siginfo_t*, void*) {
  session* const s = current;
  if (s == nullptr || !s->goes_on) return;
  s->step();
  if (s->goes_on) start_timer(timer_of_session);
}

}  // namespace

std::size_t step_through(const machine_code& where, const std::function<void()>& body,
                         const std::function<bool(std::size_t)>& at_step) {
  install(on_timer);
  session s{where, at_step};
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGTRAP;
  event._sigev_un._tid = gettid();
  if (timer_create(CLOCK_MONOTONIC, &event, &timer_of_session) != 0) fail("timer_create");
  current = &s;
  start_timer(timer_of_session);
  body();
  current = nullptr;
  timer_delete(timer_of_session);
  return s.steps;
}

bool interrupt_at(std::size_t step, const machine_code& where, const std::function<void()>& body,
                  const std::function<void()>& action) {
  step_through(where, body, [&](std::size_t) {
    action();
    return false;
  });
  return step < most_interruptions;
}

bool ends_within(std::size_t steps, const machine_code&, const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::steady_clock::now() - start < std::chrono::microseconds(5) * steps;
}

#endif

}  // namespace test
