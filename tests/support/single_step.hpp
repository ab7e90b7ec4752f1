// SPDX-License-Identifier: Apache-2.0
// Interrupts a call between any two of its machine instructions, so that a test can try every
// moment at which a signal handler may run or at which a thread may lose its CPU.
//
// On x86-64 by the CPU's trap flag, which raises SIGTRAP after each instruction. On other machines
// a timer interrupts at random times instead, so that tests try some of the moments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "support/sanitizers.hpp"

// Under ThreadSanitizer, whose code is stepped through as well, one call takes minutes: tests that
// interrupt a call at each step in turn are left out there.
#define CAN_STEP (!UNDER_THREAD_SANITIZER)

namespace test {

// From one step that such a test tries to the next. AddressSanitizer multiplies a call's steps.
inline constexpr std::size_t stride = UNDER_ADDRESS_SANITIZER ? 37 : 1;

#if defined(__x86_64__)
inline constexpr bool steps_are_exact = true;
#else
inline constexpr bool steps_are_exact = false;
#endif

// The machine code of one loaded file, a program or a library.
struct machine_code {
  std::uintptr_t begin;
  std::uintptr_t end;

  bool contains(std::uintptr_t address) const { return begin <= address && address < end; }
};

// The file that contains this address of code.
machine_code code_around(const void* address);
template <class Result, class... Arguments>
machine_code code_around(Result (*function)(Arguments...)) {
  return code_around(reinterpret_cast<const void*>(function));
}

// Runs `body` and calls at_step(n), n = 0, 1, 2, ..., before each of the calling thread's
// instructions that lies in `where`, until at_step returns false; the rest of the body then runs at
// full speed. Returns the number of calls. at_step runs in a signal handler and at full speed; what
// it calls must tolerate that it interrupts the body. Not for bodies that block SIGTRAP.
std::size_t step_through(const machine_code& where, const std::function<void()>& body,
                         const std::function<bool(std::size_t)>& at_step);

// Runs `body` and calls `action` once, before the given step. False if the body ended before that
// step; without exact steps, after some thousands of calls.
bool interrupt_at(std::size_t step, const machine_code& where, const std::function<void()>& body,
                  const std::function<void()>& action);

// Whether the body ends within so many instructions in `where`; without exact steps, within a time
// that suffices for many more.
bool ends_within(std::size_t steps, const machine_code& where, const std::function<void()>& body);

}  // namespace test
