// SPDX-License-Identifier: Apache-2.0
// The seam to the platform (model/platform/readmost/detail/platform/platform.hpp) on the machine
// that counts time. Outside of its run, when static variables are made, accesses are plain.
#include <algorithm>
#include <readmost/detail/platform/heap.hpp>
#include <readmost/detail/platform/platform.hpp>

#include "engine/arithmetic.hpp"
#include "rivals/fences.hpp"
#include "simulation/machine.hpp"

namespace rivals {

bool heavy_fence() noexcept {
  return readmost::simulation::machine::current()->membarrier();
}

}  // namespace rivals

namespace readmost::detail::platform {

namespace {

using simulation::machine;

machine* on() noexcept {
  return machine::current();
}

constexpr std::uint64_t picoseconds = 1000;  // in a nanosecond

}  // namespace

namespace simulated {

std::uint64_t load(const void* address, std::uint32_t size, std::memory_order order, place at) {
  return on() != nullptr ? on()->load(address, size, order, at)
                         : simulation::value_at(address, size);
}

// A store that is to be seen before all later loads: on x86 an exchange, which is a full fence.
void store(void* address, std::uint32_t size, std::uint64_t value, std::memory_order order,
           place at) {
  if (on() == nullptr) {
    simulation::set_value_at(address, size, value);
    return;
  }
  if (order == seq_cst && on()->description().order == simulation::access_order::tso) {
    on()->update(address, size, order, at, [value](std::uint64_t& now) {
      now = value;
      return true;
    });
    return;
  }
  on()->store(address, size, value, order, at);
}

namespace {

// Returns the former value. Stores what change(value) makes of it, unless that returns false.
template <class Change>
std::uint64_t change_value(void* address, std::uint32_t size, std::memory_order order, place at,
                           Change change) {
  if (on() != nullptr) return on()->update(address, size, order, at, change);
  const std::uint64_t before = simulation::value_at(address, size);
  std::uint64_t after = before;
  if (change(after)) simulation::set_value_at(address, size, after);
  return before;
}

}  // namespace

std::uint64_t update(void* address, std::uint32_t size, arithmetic how, std::uint64_t operand,
                     std::memory_order order, place at) {
  return change_value(address, size, order, at, [&](std::uint64_t& value) {
    value = model::combine(static_cast<model::arithmetic>(how), value, operand, size);
    return true;
  });
}

bool compare(void* address, std::uint32_t size, std::uint64_t& expected, std::uint64_t desired,
             std::memory_order success, std::memory_order, place at) {
  const std::uint64_t wanted = expected;
  expected = change_value(address, size, success, at, [&](std::uint64_t& value) {
    if (value != wanted) return false;
    value = desired;
    return true;
  });
  return expected == wanted;
}

bool guesses() noexcept {
  return true;
}

void begin_life(void* address, std::uint32_t size, std::uint64_t value) {
  simulation::set_value_at(address, size, value);
}

void end_life(void*, std::uint32_t) {}

std::uint64_t load_plain(const void* address, std::uint32_t size, place at) {
  return load(address, size, relaxed, at);
}

void store_plain(void* address, std::uint32_t size, std::uint64_t value, place at) {
  if (on() == nullptr) {
    simulation::set_value_at(address, size, value);
    return;
  }
  on()->store(address, size, value, relaxed, at, true);
}

// No object is given back: what a run takes is small.
void* allocate(std::size_t bytes, std::size_t alignment) {
  return on()->memory().take(bytes, alignment);
}

}  // namespace simulated

// --- Fences ------------------------------------------------------------------------------------

std::memory_order at(letter, std::memory_order order, place) noexcept {
  return order;
}
void light_fence(letter, place) noexcept {}
void full_fence(letter, place) noexcept {
  if (on() != nullptr) on()->fence();
}
void acquire_fence(letter, place) noexcept {
  if (on() != nullptr) on()->acquire_fence();
}
void release_fence(letter, place) noexcept {
  if (on() != nullptr) on()->release_fence();
}
// On x86 the read-modify-write is one.
void full_fence_after_rmw(letter, place) noexcept {
  if (on() != nullptr && on()->description().order == simulation::access_order::arm) on()->fence();
}

bool enable_heavy_fence() noexcept {
  return on() == nullptr || !on()->description().refuses_membarrier;
}
bool heavy_fence(letter, place) noexcept {
  return on()->membarrier();
}

void prefetch(const void* address, place at) noexcept {
  if (on() != nullptr) on()->prefetch(address, at);
}
void prefetch_for_write(const void* address, place at) noexcept {
  if (on() != nullptr) on()->prefetch_for_write(address, at);
}

// --- Waiting -----------------------------------------------------------------------------------

void relax() noexcept {
  on()->relax();
}
void yield(place) noexcept {
  on()->yield();
}
void sleep_for(std::uint64_t nanoseconds, place) noexcept {
  on()->sleep_until(on()->now() + nanoseconds * picoseconds);
}
std::uint32_t pauses(std::uint32_t units) noexcept {
  const simulation::duration one = std::max<simulation::duration>(on()->description().relax, 1);
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(units * 20 * picoseconds / one, 1, 8 * std::uint64_t{units}));
}
std::uint32_t time_of_update() noexcept {
  const simulation::machine_description& machine = on()->description();
  return static_cast<std::uint32_t>(machine.hit + machine.atomic);
}
std::uint32_t spins(std::uint32_t most) noexcept {
  return most;
}

wake_reason futex_wait(futex_word word, std::uint32_t expected, std::uint32_t mask,
                       const deadline* until, place in) noexcept {
  const std::uint64_t at = until != nullptr ? nanoseconds_of(*until) * picoseconds : 0;
  return on()->futex_wait(word, expected, mask, at, in);
}

void futex_nap(futex_word word, std::uint32_t expected, std::uint64_t nanoseconds,
               place in) noexcept {
  on()->futex_wait(word, expected, ~0U, on()->now() + nanoseconds * picoseconds, in);
}

int futex_wake(futex_word word, int count, std::uint32_t mask, place in) noexcept {
  return on()->futex_wake(word, count, mask, in);
}

// --- Clock, threads, memory --------------------------------------------------------------------

std::uint64_t now() noexcept {
  return on() != nullptr ? on()->read_clock() : 0;
}
unsigned usable_cpus() noexcept {
  return on()->description().cpus();
}
unsigned current_cpu() noexcept {
  return on()->current_cpu();
}
void watch_thread_exit(void (*on_exit)()) noexcept {
  on()->self().on_exit = on_exit;
}
std::int32_t thread_id() noexcept {
  return static_cast<std::int32_t>(on()->self().number) + 1;
}
bool start_thread(void (*body)(void*), void* argument) noexcept {
  on()->start_daemon(body, argument);
  return true;
}
void* map_pages(std::size_t bytes) noexcept {
  void* const pages = on()->memory().take(bytes, 4096);
  std::memset(pages, 0, bytes);
  return pages;
}

}  // namespace readmost::detail::platform
