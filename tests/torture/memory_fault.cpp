// SPDX-License-Identifier: Apache-2.0
#include "memory_fault.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "session.hpp"

namespace torture {

namespace {

std::uintptr_t arena_begin = 0;
std::uintptr_t arena_end = 0;
struct sigaction old_action;

void fault(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (address >= arena_begin && address < arena_end) {
    constexpr std::string_view text =
        "torture: violation: the memory of a destroyed lock was accessed\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
    _exit(exit_status::violated);
  }
  // The fault is outside the arena: restore the old handler and fault again.
  sigaction(SIGSEGV, &old_action, nullptr);
}

void must(bool good, const char* call) {
  if (good) return;
  std::perror(call);
  std::abort();
}

}  // namespace

guarded_arena::guarded_arena(std::size_t bytes)
    : bytes_(bytes),
      memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
  must(memory_ != MAP_FAILED, "mmap");
  arena_begin = reinterpret_cast<std::uintptr_t>(memory_);
  arena_end = arena_begin + bytes;
  struct sigaction action = {};
  action.sa_sigaction = fault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &old_action);
}

guarded_arena::~guarded_arena() {
  sigaction(SIGSEGV, &old_action, nullptr);
  munmap(memory_, bytes_);
}

void guarded_arena::close() {
  must(mprotect(memory_, bytes_, PROT_NONE) == 0, "mprotect");
}

void guarded_arena::open() {
  must(mprotect(memory_, bytes_, PROT_READ | PROT_WRITE) == 0, "mprotect");
}

void guarded_arena::remap() {
  must(mmap(memory_, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
            0) == memory_,
       "mmap");
}

}  // namespace torture
