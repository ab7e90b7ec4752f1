// SPDX-License-Identifier: Apache-2.0
// The simulated machine behind platform/readmost/platform.hpp.
#include <algorithm>
#include <readmost/detail/platform/heap.hpp>
#include <readmost/detail/platform/platform.hpp>

#include "engine/execution.hpp"
#include "engine/weakening.hpp"

namespace readmost::detail::platform {

namespace {

using model::execution;

execution* run() noexcept {
  return execution::current();
}

}  // namespace

namespace simulated {

std::uint64_t load(const void* address, std::uint32_t size, std::memory_order order, place at) {
  return run()->load(address, size, order, at);
}

void store(void* address, std::uint32_t size, std::uint64_t value, std::memory_order order,
           place at) {
  run()->store(address, size, value, order, at);
}

std::uint64_t update(void* address, std::uint32_t size, arithmetic how, std::uint64_t operand,
                     std::memory_order order, place at) {
  return run()->update(address, size, static_cast<model::arithmetic>(how), operand, order, at);
}

bool compare(void* address, std::uint32_t size, std::uint64_t& expected, std::uint64_t desired,
             std::memory_order success, std::memory_order failure, place at) {
  return run()->compare(address, size, expected, desired, success, failure, at);
}

bool guesses() noexcept {
  return false;
}

// The lives of static variables begin before there is an execution and end after it.
void begin_life(void* address, std::uint32_t size, std::uint64_t value) {
  if (run() != nullptr) run()->begin_life(address, size, value);
}

void end_life(void* address, std::uint32_t size) {
  if (run() != nullptr) run()->end_life(address, size, place::current());
}

std::uint64_t load_plain(const void* address, std::uint32_t size, place at) {
  if (run() == nullptr) return 0;
  run()->read_plain(address, at);
  return run()->plain_value(address, size);
}

void store_plain(void* address, std::uint32_t size, std::uint64_t value, place at) {
  if (run() == nullptr) return;
  run()->write_plain(address, at);
  run()->plain_value(address, size) = value;
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  return run()->memory_for_scenario().take(bytes, alignment);
}

}  // namespace simulated

std::memory_order at(letter which, std::memory_order order, place in) noexcept {
  return model::order_now(which, order, false, in);
}

namespace {

bool is_left(letter which, place in) noexcept {
  return model::order_now(which, seq_cst, true, in) == seq_cst;
}

}  // namespace

void light_fence(letter which, place in) noexcept {
  if (!is_left(which, in)) run()->sink_last_store();
}

void full_fence(letter which, place in) noexcept {
  if (is_left(which, in)) run()->fence(seq_cst, in);
}

void acquire_fence(letter which, place in) noexcept {
  if (is_left(which, in)) run()->fence(acquire, in);
}

void release_fence(letter which, place in) noexcept {
  if (is_left(which, in)) run()->fence(release, in);
}

void full_fence_after_rmw(letter which, place in) noexcept {
  // A read-modify-write of x86 has drained the store buffer; elsewhere it is no fence.
  if (is_left(which, in) && run()->model() == model::memory_model::release_acquire) {
    run()->fence(seq_cst, in);
  }
}

bool enable_heavy_fence() noexcept {
  return run()->simulated_machine().membarrier;
}

bool heavy_fence(letter which, place in) noexcept {
  return !is_left(which, in) || run()->membarrier(in);
}

// A thread may stop between any two steps anyway.
void prefetch(const void*, place) noexcept {}
void prefetch_for_write(const void*, place) noexcept {}
void relax() noexcept {}

void yield(place in) noexcept {
  run()->yield(in);
}

void sleep_for(std::uint64_t nanoseconds, place in) noexcept {
  run()->pass_time(nanoseconds, in);
  run()->yield(in);
}

std::uint32_t pauses(std::uint32_t units) noexcept {
  return spins(units);
}

std::uint32_t time_of_update() noexcept {
  return 6'000;
}

std::uint32_t spins(std::uint32_t most) noexcept {
  return std::min(most, run()->simulated_machine().turns);
}

std::uint64_t now() noexcept {
  return run()->now();
}

wake_reason futex_wait(futex_word word, std::uint32_t expected, std::uint32_t mask,
                       const deadline* until, place in) noexcept {
  return run()->futex_wait(word, expected, mask, until != nullptr, in);
}

// The time suffices, whether or not there is a wake-up.
void futex_nap(futex_word, std::uint32_t, std::uint64_t nanoseconds, place in) noexcept {
  sleep_for(nanoseconds, in);
}

int futex_wake(futex_word word, int count, std::uint32_t mask, place in) noexcept {
  return run()->futex_wake(word, count, mask, in);
}

unsigned usable_cpus() noexcept {
  return run()->simulated_machine().cpus;
}

unsigned current_cpu() noexcept {
  return run()->self().number % run()->simulated_machine().cpus;
}

void watch_thread_exit(void (*on_exit)()) noexcept {
  run()->self().on_exit = on_exit;
}

std::int32_t thread_id() noexcept {
  return static_cast<std::int32_t>(run()->self().number) + 1;
}

bool start_thread(void (*body)(void*), void* argument) noexcept {
  auto& machine = run()->simulated_machine();
  if (!machine.may_start_thread || machine.started != nullptr) return false;
  machine.started = body;
  machine.started_with = argument;
  return true;
}

void* map_pages(std::size_t bytes) noexcept {
  void* const pages = run()->memory_for_scenario().take(bytes, cache_line);
  std::memset(pages, 0, bytes);
  return pages;
}

}  // namespace readmost::detail::platform
