// SPDX-License-Identifier: Apache-2.0
// The means by which scenarios are written: see docs/checking.md.
#pragma once

#include <new>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "engine/execution.hpp"

namespace readmost::model {

// One execution, as the function that describes the scenario sees it. That function runs alone,
// before the threads that it makes, and again for every execution.
class scenario {
 public:
  explicit scenario(execution& run) noexcept : run_(run) {}

  // An object that the threads share, named in reports. Its memory belongs to the execution and is
  // not used again.
  template <class T, class... Arguments>
  T& make(const char* name, Arguments&&... arguments) {
    T* const made = new (run_.memory_for_scenario().take(sizeof(T), alignof(T)))
        T(std::forward<Arguments>(arguments)...);
    run_.name(made, sizeof(T), name);
    return *made;
  }

  // A thread that runs `body` beside the others.
  template <class Body>
  scenario& thread(const char* name, Body body) {
    run_.add_thread(name, {}, keep(std::move(body)));
    return *this;
  }
  // The same, after `before`, which runs in this thread, alone, before any thread starts.
  template <class Before, class Body>
  scenario& thread(const char* name, Before before, Body body) {
    run_.add_thread(name, keep(std::move(before)), keep(std::move(body)));
    return *this;
  }
  // The latest thread's exit, with the library's part in it, follows its body, beside the other
  // threads. Other threads exit one by one after all have finished.
  void exits_at_once() { run_.thread(run_.thread_count() - 1).exits_at_once = true; }

  // The latest thread may be switched out and in again that often, after any of its steps;
  // `switched` is what the kernel then does on the thread's CPU.
  void may_be_switched(unsigned most, void (*switched)()) {
    simulated_thread& latest = run_.thread(run_.thread_count() - 1);
    latest.switches = most;
    latest.switched = switched;
  }

  // Runs alone after all threads have finished. Replaces the last one given.
  template <class Last>
  void finally(Last last) {
    run_.set_finally(keep(std::move(last)));
  }

  // Reports values, such as those read. The search collects the different ones.
  void observe(std::vector<std::int64_t> values) { run_.observe(std::move(values)); }

  // How many sleeps of each thread may end by their deadline although a thread could still wake
  // them.
  void timeouts(unsigned most) noexcept { run_.simulated_machine().timeouts = most; }
  // The length of spins that may end without success: see platform::spins().
  void spins(std::uint32_t most) noexcept { run_.simulated_machine().turns = most; }
  void cpus(unsigned count) noexcept { run_.simulated_machine().cpus = count; }
  // Lets the library start a thread of its own, which is simulated as this thread.
  void starts_thread(const char* name) {
    run_.simulated_machine().may_start_thread = true;
    thread(name, [this] {
      const machine& has = run_.simulated_machine();
      if (has.started != nullptr) has.started(has.started_with);
    });
  }
  // Nanoseconds between two readings of the clock by one thread.
  void clock_step(std::uint64_t nanoseconds) noexcept {
    run_.simulated_machine().clock_step = nanoseconds;
  }
  void without_membarrier() noexcept { run_.simulated_machine().membarrier = false; }

  // Keeps a function until the end of the execution.
  template <class Function>
  closure keep(Function function) {
    void* const place = run_.memory_for_scenario().take(sizeof(Function), alignof(Function));
    auto* const kept = new (place) Function(std::move(function));
    return {[](void* captured) { (*static_cast<Function*>(captured))(); }, kept};
  }

  execution& run() noexcept { return run_; }

 private:
  execution& run_;
};

// Destroys an object that scenario::make() has made. The checker finds later accesses.
template <class T>
void destroy(T& object) {
  object.~T();
}

// Fails the execution unless `holds`.
inline void expect(bool holds, const char* what,
                   std::source_location at = std::source_location::current()) {
  if (!holds) execution::current()->fail(violation_kind::assertion, what, at);
}

}  // namespace readmost::model
