// What a scenario is written with: see docs/checking.md.
#pragma once

#include <new>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "engine/execution.hpp"

namespace readmost::model {

// One execution, as seen by the function that describes it. That function runs alone, before the
// threads that it makes, and again from the start for every execution.
class scenario {
 public:
  explicit scenario(execution& run) noexcept : run_(run) {}

  // An object for the threads, named in reports. Its memory is the execution's and never put to
  // another use.
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
  // The same; `before` runs alone before any thread starts, but in this thread.
  template <class Before, class Body>
  scenario& thread(const char* name, Before before, Body body) {
    run_.add_thread(name, keep(std::move(before)), keep(std::move(body)));
    return *this;
  }
  // What the library does at the exit of the thread made last happens as soon as its body is over,
  // beside the other threads, and not alone after them.
  void exits_at_once();

  // Runs alone when all threads are over.
  template <class Last>
  void finally(Last last) {
    run_.set_finally(keep(std::move(last)));
  }

  // What was read, say: the search collects the different ones.
  void observe(std::vector<std::int64_t> values) { run_.observe(std::move(values)); }

  // Sleeps with a deadline that may end by it although somebody could still wake them, per thread.
  void timeouts(unsigned most) noexcept { run_.simulated_machine().timeouts = most; }
  // Turns of a spin that has another way to go on: platform::turns().
  void turns(std::uint32_t most) noexcept { run_.simulated_machine().turns = most; }
  void cpus(unsigned count) noexcept { run_.simulated_machine().cpus = count; }
  // The library may start a thread of its own, which comes to life with this one.
  void starts_thread(const char* name) {
    run_.simulated_machine().may_start_thread = true;
    thread(name, [this] {
      const machine& has = run_.simulated_machine();
      if (has.started != nullptr) has.started(has.started_with);
    });
  }
  // Nanoseconds between two readings by one thread: so many fit into what it waits for.
  void clock_step(std::uint64_t nanoseconds) noexcept {
    run_.simulated_machine().clock_step = nanoseconds;
  }
  void without_membarrier() noexcept { run_.simulated_machine().membarrier = false; }

  // A function as something to be called until the execution is over.
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

// Ends the life of what scenario::make() made: whoever touches it afterwards is found.
template <class T>
void destroy(T& object) {
  object.~T();
}

// Ends the execution as a failure unless `holds`.
inline void expect(bool holds, const char* what,
                   std::source_location at = std::source_location::current()) {
  if (!holds) execution::current()->fail(violation_kind::assertion, what, at);
}

}  // namespace readmost::model
