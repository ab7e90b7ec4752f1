// SPDX-License-Identifier: Apache-2.0
// The simulated machine: CPUs that run threads, one action of one thread at a time, in the order of
// simulated time. Threads are fibers; whatever they do through the seam to the platform
// (platform.cpp) is an action that takes time and happens at one instant of it.
//
//   machine.cpp     threads, time, actions on memory
//   scheduler.cpp   which thread runs on which CPU
//   kernel.cpp      system calls, interrupts
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "engine/arena.hpp"
#include "engine/fiber.hpp"
#include "engine/own_variables.hpp"
#include "engine/sleep_end.hpp"
#include "simulation/coherence.hpp"
#include "simulation/early_loads.hpp"
#include "simulation/event_queue.hpp"
#include "simulation/machine_description.hpp"
#include "simulation/random_numbers.hpp"
#include "simulation/spending.hpp"
#include "simulation/store_buffer.hpp"

namespace readmost::simulation {

struct simulated_thread {
  std::uint32_t number = 0;
  std::string name;
  std::function<void()> body;
  model::fiber fiber;
  model::own_variables own;

  unsigned cpu = 0;
  std::uint64_t waits = 0;  // the number of its present wait; events for earlier ones are void
  bool finished = false;
  bool is_daemon = false;  // the library's: run() does not wait for it

  // What the instructions take that belong to an access and are none.
  duration beside_access = 0;

  // Asleep on a futex, or for a time if `queue` is null.
  bool asleep = false;
  const void* queue = nullptr;
  std::uint32_t mask = 0;
  bool was_woken = false;

  // What the present wait is for, and since when.
  spending waits_for = spending::instructions;
  instant since = 0;
  duration spent[spendings] = {};
  void (*on_exit)() = nullptr;
};

struct processor {
  unsigned number = 0;
  simulated_thread* runs = nullptr;
  std::deque<simulated_thread*> ready;
  instant slice_ends = 0;
  instant idle_since = 0;
  // By interrupts and by a hypervisor, from the thread's next action.
  duration stolen = 0;
  instant away_until = 0;  // a hypervisor runs others

  // When the next instruction may begin. Instructions that are no accesses run ahead of atomics:
  // so this may be before or after the machine's present time, at which the last access was.
  instant front = 0;
  // When the last load that waited for its line ended: until then instructions ran beside it.
  instant load_ended = ~instant{0};
  // When its loads are complete, and its last store: atomics and fences wait for that.
  instant complete = 0;
  instant committed = 0;
  std::uintptr_t last_atomic = 0;  // its word, unless that has been stored to since

  store_buffer buffer;
  early_loads early;     // under the order of Arm
  bool drains = false;   // an event for that is planned
  bool granted = false;  // ... and the line is reserved
  instant drain_ends = 0;
  simulated_thread* awaits_drain = nullptr;   // its thread waits for the buffer
  bool awaits_all = false;                    // ... to be empty
  std::vector<std::uint64_t> fences_pending;  // membarriers whose interrupt waits for the buffer
  std::vector<instant> fetches;               // prefetches in progress: when they end

  // The last load that waited for its line, until it is known what followed.
  struct {
    std::uintptr_t line = 0;
    std::source_location at;
    instant when = 0;
  } missed;
};

class machine {
 public:
  // `seed`: of the small differences between threads, without which they would run in step.
  machine(const machine_description& on, std::uint64_t seed);
  ~machine();
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;

  // The machine that the calling code runs on; null outside of run().
  static machine* current() noexcept { return current_machine; }

  // Before run(), or by a running thread. Threads get CPUs in turn.
  simulated_thread& add_thread(std::string name, std::function<void()> body);
  // Until all threads but those of the library have finished. Throws std::runtime_error if they
  // cannot.
  void run();

  const machine_description& description() const noexcept { return on_; }
  coherence& lines() noexcept { return lines_; }
  // For the running thread, when it gets to its next instruction.
  instant now() const noexcept {
    return running_ == nullptr ? now_ : std::max(now_, cpus_[running_->cpu].front);
  }
  simulated_thread& self() noexcept { return *running_; }
  const std::deque<simulated_thread>& threads() const noexcept { return threads_; }
  std::uint64_t interrupts_sent() const noexcept { return interrupts_sent_; }
  std::uint64_t accesses() const noexcept { return accesses_; }
  // What threads spend is counted from now on.
  void reset_spent() noexcept;
  model::arena& memory() noexcept { return memory_; }
  std::uint64_t random() noexcept { return random_(); }

  // --- Actions of the running thread.
  void work(duration time);  // on nothing that others see
  std::uint64_t load(const void* address, std::uint32_t size, std::memory_order order,
                     std::source_location at);
  // `plain`: of a variable at which nobody else may look meanwhile.
  void store(void* address, std::uint32_t size, std::uint64_t value, std::memory_order order,
             std::source_location at, bool plain = false);
  // Returns the former value. Stores what change(value) makes of it, unless that returns false.
  template <class Change>
  std::uint64_t update(void* address, std::uint32_t size, std::memory_order order,
                       std::source_location at, Change change) {
    begin_atomic(address, size, order);
    const served when = lines_.write(cpu().number, address, now_, on_.hit, at);
    reach(when.effect, spending::transfers);
    const std::uint64_t before = value_at(address, size);
    std::uint64_t after = before;
    if (change(after)) change_memory(cpu(), address, size, after);
    reach_end(when);
    reach(now_ + on_.atomic, spending::instructions);
    end_atomic(address, order);
    return before;
  }
  // Go on before the line is there.
  void prefetch(const void* address, std::source_location at);
  void prefetch_for_write(const void* address, std::source_location at);
  void fence();
  // Those of Arm that do less than a fence; elsewhere they are no instructions.
  void acquire_fence();
  void release_fence();
  void relax();
  std::uint64_t read_clock();  // nanoseconds

  bool membarrier();
  // Times out at `until` if that is not 0.
  model::sleep_end futex_wait(const void* address, std::uint32_t expected, std::uint32_t mask,
                              instant until, std::source_location at);
  int futex_wake(const void* address, int count, std::uint32_t mask, std::source_location at);
  void sleep_until(instant until);
  void yield();
  // The CPU of the running thread.
  unsigned current_cpu() noexcept { return running_->cpu; }
  // For threads that the library starts: run() does not wait for them.
  void start_daemon(void (*body)(void*), void* argument);

 private:
  static machine* current_machine;

  processor& cpu() noexcept { return cpus_[running_->cpu]; }
  static void enter_thread(void* of_machine);

  // --- machine.cpp
  void begin_action();
  // ... of memory: waits until the CPU gets to it.
  void begin_access();
  void begin_atomic(const void* address, std::uint32_t size, std::memory_order order);
  void end_atomic(const void* address, std::memory_order order);
  // The access itself, and what belongs to it, keep the core busy for this.
  void pass(duration access);
  // ... of the kernel: all before it is complete.
  void settle();
  // Lets simulated time pass for the running thread.
  void reach(instant when, spending on);
  void reach_end(served when);
  // Switches to the engine until an event `run` for this wait.
  void wait(spending on);
  void go_on(simulated_thread& with, instant when);
  void resume(simulated_thread& next);
  void handle(const event& next);
  void empty_buffer();
  void make_room();
  void drain(processor& of);
  void drained(processor& of);
  void change_memory(processor& by, void* address, std::uint32_t size, std::uint64_t value);
  void drain_in_any_order(processor& of);
  void buffer_is_empty(processor& of);
  void wake_who_awaits_drain(processor& of);
  // Whether the core asks for the line of a load to write, since the last time a write followed.
  bool expects_write_after(const std::source_location& load) const;
  void learn_of_write(const void* address);
  void run_beside_load(instant begun);
  void learn_of_miss(const void* address, const std::source_location& load);
  bool is_arm() const noexcept { return on_.order == access_order::arm; }
  // Then one event for each CPU, its next loss, is always planned.
  bool steals() const noexcept { return on_.stolen_share != 0; }
  std::runtime_error no_thread_can_go_on() const;

  // --- scheduler.cpp
  void make_ready(simulated_thread& which, duration latency);
  void leave_cpu(spending on);
  void run_next(processor& on, instant when);
  void put_on(processor& on, simulated_thread& next, instant when, bool switches);
  void give_way();
  // Whether another CPU of the running thread's core runs a thread. Virtual machines often say that
  // no CPUs share a core; then neighbours do, if the file has `instruction_beside`.
  bool shares_core_with_busy() const noexcept;
  processor* idle_near(unsigned cpu);

  // --- kernel.cpp
  void enter_kernel();
  void interrupt(processor& at, std::uint64_t membarrier);
  void acknowledge(std::uint64_t membarrier, instant when);
  void plan_steal(processor& of, instant after);
  void steal(processor& of);
  void fall_asleep(const void* queue, std::uint32_t mask, instant until);
  // Returns what that costs the waker.
  duration wake(simulated_thread& sleeper, bool woken);

  struct pending_membarrier {
    simulated_thread* caller;
    unsigned unanswered;
    instant answered;
  };

  const machine_description on_;
  model::arena memory_;
  coherence lines_;
  past_values past_;  // under the order of Arm
  // By place of a load: whether a write of its line followed when it last missed.
  using place = std::tuple<const char*, unsigned, unsigned>;
  std::map<place, bool> write_follows_;
  event_queue events_;
  instant now_ = 0;
  std::vector<processor> cpus_;
  std::deque<simulated_thread> threads_;
  unsigned unfinished_ = 0;
  unsigned next_cpu_ = 0;
  simulated_thread* running_ = nullptr;
  model::fiber engine_;
  std::map<const void*, std::deque<simulated_thread*>> sleepers_;
  std::map<std::uint64_t, pending_membarrier> membarriers_;
  std::uint64_t next_membarrier_ = 0;
  std::uint64_t interrupts_sent_ = 0;
  std::uint64_t accesses_ = 0;
  random_numbers random_;
  std::exception_ptr thrown_;
};

}  // namespace readmost::simulation
