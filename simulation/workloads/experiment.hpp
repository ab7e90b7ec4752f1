// SPDX-License-Identifier: Apache-2.0
// What all workloads share: threads that repeat operations until the time of the run is over, and
// the times of those that began after the warm-up.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "simulation/instruction_counts.hpp"
#include "simulation/machine.hpp"
#include "simulation/workloads/workloads.hpp"

namespace readmost::simulation {

// What readers and writers do with the data: some cycles, on a line of the data.
inline constexpr duration cycles_inside = 20;

// One run: threads that repeat operations until its time is over.
class experiment {
 public:
  experiment(const machine_description& on, const workload_options& how)
      : machine_(on, how.seed),
        how_(how),
        counts_from_(how.warm_up * 1000),
        ends_(counts_from_ + how.time * 1000) {}

  machine& on() { return machine_; }
  duration cycles(duration number) const {
    return static_cast<duration>(static_cast<double>(number) * 1000 / machine_.description().ghz);
  }
  bool is_over() const { return machine_.now() >= ends_; }

  // Calls operation() and adds its time to `to`, unless that is during the warm-up.
  template <class Operation>
  void time(latencies& to, Operation operation) {
    const instant start = machine_.now();
    operation();
    if (start >= counts_from_) to.add(machine_.now() - start);
  }
  void note(latencies& to, duration time) {
    if (machine_.now() >= counts_from_) to.add(time);
  }
  template <class First, class Inside, class Last>
  void time_around(latencies& to, First enter, Inside inside, Last leave) {
    const instant start = machine_.now();
    enter();
    const instant entered = machine_.now();
    inside();
    const instant leaving = machine_.now();
    leave();
    if (start >= counts_from_) to.add(machine_.now() - leaving + entered - start);
  }
  // What a thread does between two operations.
  void call() { machine_.work(machine_.description().time_of(instructions_of_caller)); }
  // A little more or less than so many cycles.
  void pause(duration number) {
    machine_.work(cycles(number) * (900 + machine_.random() % 200) / 1000);
  }

  template <class Body>
  void add_thread(const std::string& name, Body body) {
    machine_.add_thread(name, [this, body] {
      while (!is_over()) {
        note_begin();
        call();
        body();
      }
    });
  }

  // A thread that ends by itself.
  template <class Body>
  void add_brief_thread(const std::string& name, Body body) {
    machine_.add_thread(name, [this, body] {
      note_begin();
      body();
    });
  }

  measurement run() {
    machine_.run();
    measurement made;
    made.measured = how_.time * 1000;
    made.reads = std::move(reads);
    made.writes = std::move(writes);
    for (const simulated_thread& each : machine_.threads()) {
      for (unsigned i = 0; i < spendings; ++i) made.spent[i] += each.spent[i];
    }
    made.interrupts = machine_.interrupts_sent() - interrupts_before_;
    made.accesses = machine_.accesses() - accesses_before_;
    made.lines = machine_.lines().hottest(5);
    return made;
  }

  latencies reads;
  latencies writes;

 private:
  // The first thread that comes after the warm-up lets the lines' counts begin.
  void note_begin() {
    if (counting_ || machine_.now() < counts_from_) return;
    counting_ = true;
    machine_.lines().reset_counts();
    machine_.reset_spent();
    interrupts_before_ = machine_.interrupts_sent();
    accesses_before_ = machine_.accesses();
  }

  machine machine_;
  const workload_options how_;
  const instant counts_from_;
  const instant ends_;
  bool counting_ = false;
  std::uint64_t interrupts_before_ = 0;
  std::uint64_t accesses_before_ = 0;
};

// The lock is made by the first thread that runs: its memory is the machine's.
class lock_in_use {
 public:
  explicit lock_in_use(const contender& of) : of_(of) {}
  simulated_lock& get() {
    if (made_ == nullptr) made_ = of_.make();
    return *made_;
  }

 private:
  const contender& of_;
  simulated_lock* made_ = nullptr;
};

struct scene {
  scene(const machine_description& machine, const contender& with, const workload_options& how)
      : run(machine, how), lock(with) {}

  void read(duration inside) { read(inside, lock.get()); }
  void read(duration inside, simulated_lock& with) {
    read_while([&] { run.pause(inside); }, with);
  }
  // Calls inside() as a reader.
  template <class Inside>
  void read_while(Inside inside) {
    read_while(inside, lock.get());
  }
  template <class Inside>
  void read_while(Inside inside, simulated_lock& with) {
    run.time_around(run.reads, [&] { with.lock_shared(); }, inside, [&] { with.unlock_shared(); });
  }
  void write(duration inside) { write(inside, lock.get()); }
  void write(duration inside, simulated_lock& with) {
    run.time_around(
        run.writes, [&] { with.lock(); }, [&] { run.pause(inside); }, [&] { with.unlock(); });
  }

  experiment run;
  lock_in_use lock;
};

inline std::string numbered(const char* name, unsigned number) {
  return fmt::format("{} {}", name, number);
}

// All threads repeat operation(scene).
template <class Operation>
measurement by_all(const machine_description& on, const contender& with,
                   const workload_options& how, Operation operation) {
  scene at(on, with, how);
  for (unsigned i = 0; i < how.threads; ++i) {
    at.run.add_thread(numbered("thread", i), [&] { operation(at); });
  }
  return at.run.run();
}

}  // namespace readmost::simulation
