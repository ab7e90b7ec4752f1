// SPDX-License-Identifier: Apache-2.0
// One execution of a scenario: its threads, one of which runs at a time, the memory between them,
// futexes and time. A search (search.hpp) decides which thread runs next.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "engine/fiber.hpp"
#include "engine/memory.hpp"
#include "engine/own_variables.hpp"
#include "engine/sleep_end.hpp"
#include "engine/violation.hpp"

namespace readmost::model {

class scenario;
class search;

// A function and its captures, in the arena. Many executions are abandoned half way, so nothing may
// need a destructor.
struct closure {
  void (*call)(void*) = nullptr;
  void* captured = nullptr;
  void operator()() const {
    if (call != nullptr) call(captured);
  }
};

struct simulated_thread {
  unsigned number = 0;
  const char* name = "";
  closure before;
  closure body;
  bool exits_at_once = false;  // its exit is explored, and does not happen after all threads
  // How often it may still be switched out and in again; `switched` is what the kernel then does on
  // its CPU.
  unsigned switches = 0;
  void (*switched)() = nullptr;
  operation* pending = nullptr;  // null: finished, or not started
  bool finished = false;

  view* now = nullptr;              // what the thread knows
  view* pending_acquire = nullptr;  // what an acquire fence would add to that
  view* released = nullptr;         // what it knew at its last release fence

  // State of a futex_wait.
  location* asleep_on = nullptr;
  std::uint32_t asleep_mask = 0;
  bool asleep_timed = false;
  bool woken = false;
  unsigned timeouts = 0;       // sleeps that ended by their deadline
  std::uint32_t woken_by = 0;  // step

  std::vector<look> looks;  // since the last turn of a loop

  std::uint32_t accesses = 0;  // made or begun
  std::uint64_t clock = 0;     // nanoseconds
  void (*on_exit)() = nullptr;
  own_variables own;
};

// One step of an execution.
struct event {
  actor who = nobody;
  footprint touched;
  std::uint32_t read_from = 0;  // step
  // For each actor, the number of its latest step that this one knows of, plus 1.
  alignas(32) std::array<std::uint16_t, max_actors> known{};

  bool knows(std::uint32_t step, actor whose) const noexcept { return known[whose] > step; }
};

struct limits {
  std::uint32_t steps = 5000;    // of one execution; more is a livelock
  std::uint32_t idle_turns = 3;  // how often time may pass because no thread can do anything else
};

// The simulated machine, as the scenario sets it up.
struct machine {
  unsigned timeouts = 0;    // how many sleeps may end by their deadline although they need not
  std::uint32_t turns = 1;  // of a spin that may end without success
  unsigned cpus = 2;
  std::uint64_t clock_step = 4000;  // nanoseconds between two readings by one thread
  bool membarrier = true;
  // The library may start one thread, which calls `started`.
  bool may_start_thread = false;
  void (*started)(void*) = nullptr;
  void* started_with = nullptr;
};

// A step of a schedule: which actor acted, and which of its possible outcomes came about.
struct choice {
  std::uint8_t who = 0;
  std::uint16_t outcome = 0;
  // The number of the access among the thread's accesses, scheduled or not; 0 for store buffers. So
  // a schedule does not depend on which variables were known to be shared when it was made.
  std::uint32_t access = 0;
  std::uint32_t until = 0;  // the thread's last access before its next step
  bool operator==(const choice&) const = default;
};

class execution {
 public:
  execution(memory_model model, limits bounds);
  ~execution();
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;

  enum class ending : std::uint8_t {
    complete,
    abandoned,  // the search has seen the rest in another execution
    surprised,  // a location turned out to be shared, so the search has to start again
    violated,
  };
  using body = std::function<void(scenario&)>;
  ending run(const body& of, search& by, bool recorded = false);

  // The execution that the calling code is part of; null outside of executions.
  static execution* current() noexcept { return current_execution; }

  // --- For the simulated platform.
  std::uint64_t load(const void* address, std::uint32_t size, std::memory_order order,
                     std::source_location at);
  void store(void* address, std::uint32_t size, std::uint64_t value, std::memory_order order,
             std::source_location at);
  std::uint64_t update(void* address, std::uint32_t size, arithmetic how, std::uint64_t operand,
                       std::memory_order order, std::source_location at);
  bool compare(void* address, std::uint32_t size, std::uint64_t& expected, std::uint64_t desired,
               std::memory_order success, std::memory_order failure, std::source_location at);
  void begin_life(void* address, std::uint32_t size, std::uint64_t value);
  void end_life(void* address, std::uint32_t size, std::source_location at);
  void fence(std::memory_order order, std::source_location at);
  bool membarrier(std::source_location at);
  // As if no fence kept the compiler from moving that store behind the loads that follow.
  void sink_last_store();
  // Afterwards all threads see the stores that were made long ago.
  void pass_time(std::uint64_t nanoseconds, std::source_location at);
  sleep_end futex_wait(const void* address, std::uint32_t expected, std::uint32_t mask, bool timed,
                       std::source_location at);
  int futex_wake(const void* address, int count, std::uint32_t mask, std::source_location at);
  void yield(std::source_location at);
  std::uint64_t now();
  void read_plain(const void* address, std::source_location at);
  void write_plain(const void* address, std::source_location at);
  std::uint64_t& plain_value(const void* address, std::uint32_t size);

  [[noreturn]] void fail(violation_kind kind, std::string what, std::source_location at);

  // --- For scenarios.
  arena& memory_for_scenario() noexcept { return objects_; }
  simulated_thread& add_thread(const char* name, closure before, closure body);
  void set_finally(closure last) noexcept { finally_ = last; }
  machine& simulated_machine() noexcept { return machine_; }
  void name(const void* begin, std::size_t bytes, std::string text);
  void observe(std::vector<std::int64_t> values) { observed_ = std::move(values); }
  const std::vector<std::int64_t>& observed() const noexcept { return observed_; }

  // --- For memory models.
  views& all_views() noexcept { return views_; }
  // Chooses among several outcomes of the step in progress.
  std::uint32_t pick(std::uint32_t outcomes);
  // Records the number of that outcome among all outcomes, if some were left out of the choice.
  void note_outcome(std::uint32_t outcome) {
    schedule_.back().outcome = static_cast<std::uint16_t>(outcome);
  }
  // The step in progress, counted from 1; 0 stands for what happened before the threads started.
  std::uint32_t step() const noexcept { return static_cast<std::uint32_t>(events_.size()); }
  // The step in progress may read only stores of this step or later.
  std::uint32_t fresh_since() const noexcept { return fresh_since_; }
  memory_model model() const noexcept { return model_; }

  // --- For searches.
  unsigned thread_count() const noexcept { return thread_count_; }
  // All threads that can go on are spinning, and nothing has changed.
  bool is_idle() const noexcept { return idle_; }
  const simulated_thread& thread(unsigned number) const noexcept { return threads_[number]; }
  simulated_thread& thread(unsigned number) noexcept { return threads_[number]; }
  simulated_thread& self() noexcept { return *running_; }
  const std::vector<event>& events() const noexcept { return events_; }
  footprint footprint_of(actor who) const;
  const memory& memory_in_use() const noexcept { return *memory_; }
  const violation& found() const noexcept { return violation_; }
  const std::vector<choice>& schedule() const noexcept { return schedule_; }
  const std::vector<recorded_step>& record() const noexcept { return record_; }
  // What the latest step knew before its access to shared variables.
  const event& before_latest() const noexcept { return before_latest_; }
  // Calls visit(index) for the events of other threads that may conflict with the latest one.
  template <class Visit>
  void for_each_candidate(Visit visit) const {
    const footprint& of = events_.back().touched;
    const auto earlier = [&](const std::vector<std::uint32_t>& list) {
      for (const std::uint32_t index : list) {
        if (index + 1 != events_.size() && events_[index].touched.thread != of.thread) visit(index);
      }
    };
    if (of.where != nullptr) earlier(of.where->steps);
    if (of.looks != 0) {
      for (const auto& look : threads_[of.thread].looks) earlier(look.where->steps);
    }
    if (of.queue != nullptr) earlier(of.queue->queue_steps);
    if (of.fences || of.seq_cst) earlier(ordered_steps_);
    earlier(interrupted_[of.thread]);
    if (of.interrupts >= 0) earlier(steps_of_[static_cast<unsigned>(of.interrupts)]);
  }

  // The name of a location in reports, and the meaning of a value of it.
  std::string describe(const void* address) const;
  std::string describe_value(const std::string& name, std::uint64_t value) const;

 private:
  static execution* current_execution;

  location& find(const void* address, std::uint32_t size);
  // Whether an access has to be scheduled. Also finds out which locations are shared.
  bool is_scheduled(location& where, bool writes, std::source_location at);
  void check_alive(const location& where, std::source_location at);
  void start_history(location& where);
  // A locked instruction of x86 empties the store buffer, even if its variable is not shared.
  void drain_before_update(std::source_location at);
  void interrupt_others(std::source_location at);

  // Waits until the search lets the running thread go on, then carries `what` out.
  void act(operation& what);
  // After a step of the running thread: it may be switched out and in.
  void offer_switch(std::source_location at);
  void carry_out(simulated_thread& who, operation& what);
  void drain(unsigned thread);
  void finish_event(event& made);
  void note_steps(const event& made);
  void forget_own_changes(simulated_thread& who, const location& where, std::uint32_t before);
  void fall_asleep(simulated_thread& who, const operation& what);
  void wake_up(simulated_thread& waker, operation& what);
  void wake(simulated_thread& who, operation& what);

  // Lets the search choose the next actor, drains buffers that it chooses, and returns the next
  // thread; null if all have finished.
  simulated_thread* decide();
  actors ready_actors() const;
  bool is_ready(const simulated_thread& t) const;
  void note_progress();
  [[noreturn]] void nothing_can_happen();

  [[noreturn]] void stop(ending how);
  void switch_to(unsigned number);
  static void enter_thread(void* argument);
  void run_main();
  void run_thread(simulated_thread& t);
  void reset(const body& of, search& by, bool recorded);
  void begin_concurrency();
  void record_step(actor who, const operation& what);

  const memory_model model_;
  const limits limits_;
  std::unique_ptr<memory> memory_;
  arena objects_;
  arena views_memory_;
  views views_;
  std::array<simulated_thread, max_threads> threads_;  // the first runs the scenario's body and end
  std::array<fiber, max_threads> fibers_;
  fiber engine_;
  unsigned thread_count_ = 1;
  simulated_thread* running_ = nullptr;
  const body* body_ = nullptr;
  search* search_ = nullptr;
  closure finally_;
  machine machine_;

  std::deque<location> locations_;
  std::vector<location*> table_;
  unsigned shared_count_ = 0;
  std::uint32_t run_ = 0;
  bool concurrent_ = false;
  ending ending_ = ending::complete;
  violation violation_;
  bool recorded_ = false;

  struct plain {
    std::uintptr_t address = 0;
    std::uint32_t run = 0;
    bool fresh = true;  // `value` has yet to be taken from memory
    std::uint64_t value = 0;
    std::uint8_t writer = 0;
    std::uint32_t written = 0;
    std::array<std::uint32_t, max_threads> read{};
  };
  plain& find_plain(const void* address);
  [[noreturn]] void fail_as_race(const void* address, const char* mine, unsigned other,
                                 const char* others, std::source_location at);
  std::deque<plain> plains_;
  std::vector<plain*> plain_table_;

  std::vector<event> events_;
  event before_latest_;
  std::vector<choice> schedule_;
  std::vector<std::uint32_t> ordered_steps_;                         // fences and seq_cst accesses
  std::array<std::vector<std::uint32_t>, max_threads> interrupted_;  // steps that interrupt it
  std::array<std::vector<std::uint32_t>, max_threads> steps_of_;
  std::array<std::int32_t, max_actors> last_step_{};  // index of the event; -1: none
  std::vector<unsigned> sleepers_;                    // threads asleep, the longest first
  std::uint32_t fresh_since_ = 0;
  std::uint32_t idle_turns_ = 0;
  bool idle_ = false;              // see is_idle()
  std::uint32_t unscheduled_ = 0;  // accesses since the latest step
  actor last_actor_ = nobody;
  std::vector<recorded_step> record_;
  std::vector<std::int64_t> observed_;

  struct named_range {
    std::uintptr_t begin;
    std::size_t bytes;
    std::string text;
  };
  std::vector<named_range> names_;
};

}  // namespace readmost::model
