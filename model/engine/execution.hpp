// One execution of a scenario: its threads, one of which runs at a time, the memory between them,
// futexes and time. What runs next is a search's decision (search.hpp).
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
#include "engine/violation.hpp"

namespace readmost::model {

class scenario;
class search;

// A function and what it captures, in the arena: many executions are abandoned half way, and
// nothing may need a destructor.
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
  bool exits_at_once = false;    // as part of what is explored, and not when all is over
  operation* pending = nullptr;  // null: finished, or not started
  bool finished = false;

  view* now = nullptr;              // what it knows
  view* pending_acquire = nullptr;  // what an acquire fence would add
  view* released = nullptr;  // what a relaxed store publishes: all before the last release fence

  // Of a futex_wait.
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
  std::vector<char> own_data;  // its READMOST_THREAD_LOCAL variables while it does not run
};

// What one step of an execution was.
struct event {
  actor who = nobody;
  footprint touched;
  std::uint32_t read_from = 0;  // step
  // Of each actor, how many of the steps (the number of the last one, plus 1) this one knows of.
  alignas(32) std::array<std::uint16_t, max_actors> known{};

  bool knows(std::uint32_t step, actor whose) const noexcept { return known[whose] > step; }
};

struct limits {
  std::uint32_t steps = 5000;    // of one execution; more is a livelock
  std::uint32_t idle_turns = 3;  // time passes so often because nobody can do anything else
};

// What a scenario says of the machine.
struct machine {
  unsigned timeouts = 0;    // sleeps with a deadline that end by it although they need not
  std::uint32_t turns = 1;  // of a spin that has another way to go on
  unsigned cpus = 2;
  std::uint64_t clock_step = 4000;  // nanoseconds between two readings by one thread
  bool membarrier = true;
  // The library may start one thread, which is to call this.
  bool may_start_thread = false;
  void (*started)(void*) = nullptr;
  void* started_with = nullptr;
};

// A step of a schedule: who acted, and which of the outcomes it could have came about.
struct choice {
  std::uint8_t who = 0;
  std::uint16_t outcome = 0;
  // Of the thread's accesses, scheduled or not; 0 for store buffers. So a schedule means the same
  // whatever was known to be shared when it was made.
  std::uint32_t access = 0;
  std::uint32_t until = 0;  // how far the thread went on, with accesses that need no step
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
    abandoned,  // the search has seen the rest elsewhere
    surprised,  // a location turned out to be shared: the search has to begin anew
    violated,
  };
  using body = std::function<void(scenario&)>;
  ending run(const body& of, search& by, bool recorded = false);

  // The execution that the calling code is part of; null outside.
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
  // As if nothing kept the compiler from moving it behind the loads that follow.
  void sink_last_store();
  // The threads look for themselves whether stores have arrived that were made long ago.
  void pass_time(std::uint64_t nanoseconds, std::source_location at);
  bool futex_wait(const void* address, std::uint32_t expected, std::uint32_t mask, bool timed,
                  std::source_location at);  // false: timed out
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
  // Which of several outcomes the step under way has.
  std::uint32_t pick(std::uint32_t outcomes);
  // What that is among all outcomes, where some were left out.
  void note_outcome(std::uint32_t outcome) {
    schedule_.back().outcome = static_cast<std::uint16_t>(outcome);
  }
  // The step under way, counted from 1; 0 is what was before the threads started.
  std::uint32_t step() const noexcept { return static_cast<std::uint32_t>(events_.size()); }
  // The step under way may read only stores of this step or later.
  std::uint32_t fresh_since() const noexcept { return fresh_since_; }
  memory_model model() const noexcept { return model_; }

  // --- For searches.
  unsigned thread_count() const noexcept { return thread_count_; }
  // Nobody can do anything but look again, though nothing has changed.
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
  // What the step that has just happened knew before it touched what others touch.
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

  // What a location is called in reports, and what a value of it means.
  std::string describe(const void* address) const;
  std::string describe_value(const std::string& name, std::uint64_t value) const;

 private:
  static execution* current_execution;

  location& find(const void* address, std::uint32_t size);
  // Whether an access has to be scheduled. Finds out on the way what is shared.
  bool is_scheduled(location& where, bool writes, std::source_location at);
  void check_alive(const location& where, std::source_location at);
  void start_history(location& where);
  // A locked instruction of x86 empties the store buffer, whoever else knows of its variable.
  void drain_before_update(std::source_location at);

  // Waits until the search lets the running thread go on, then carries `what` out.
  void act(operation& what);
  void carry_out(simulated_thread& who, operation& what);
  void drain(unsigned thread);
  void finish_event(event& made);
  void note_steps(const event& made);
  void forget_own_changes(simulated_thread& who, const location& where, std::uint32_t before);
  void fall_asleep(simulated_thread& who, const operation& what);
  void wake_up(simulated_thread& waker, operation& what);
  void wake(simulated_thread& who, operation& what);

  // Lets the search decide who acts next; drains buffers; returns the thread. Null: all is done.
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
  std::array<simulated_thread, max_threads> threads_;  // the first sets up and looks at the end
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
  bool idle_ = false;              // nobody can do anything but look again
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
