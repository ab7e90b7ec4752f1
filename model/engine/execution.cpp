// SPDX-License-Identifier: Apache-2.0
#include "engine/execution.hpp"

#include <cstring>
#include <stdexcept>

#include "engine/address_table.hpp"
#include "engine/scenario.hpp"
#include "engine/search.hpp"

namespace readmost::model {

namespace {

constexpr std::uintptr_t objects_at = 0x5100'0000'0000;
constexpr std::uintptr_t views_at = 0x5200'0000'0000;
constexpr std::size_t objects_size = std::size_t{16} << 20;
constexpr std::size_t views_size = std::size_t{64} << 20;

}  // namespace

execution* execution::current_execution = nullptr;

execution::execution(memory_model model, limits bounds)
    : model_(model),
      limits_(bounds),
      memory_(model == memory_model::sequential ? make_sequential()
              : model == memory_model::tso      ? make_tso()
                                                : make_release_acquire()),
      objects_(objects_at, objects_size),
      views_memory_(views_at, views_size),
      views_(views_memory_),
      table_(table_size),
      plain_table_(table_size) {
  for (unsigned i = 0; i < max_threads; ++i) threads_[i].number = i;
}

execution::~execution() = default;

void execution::reset(const body& of, search& by, bool recorded) {
  ++run_;
  body_ = &of;
  search_ = &by;
  recorded_ = recorded;
  objects_.clear();
  views_memory_.clear();
  views_.start(shared_count_);
  thread_count_ = 1;
  finally_ = {};
  machine_ = {};
  concurrent_ = false;
  ending_ = ending::complete;
  violation_ = {};
  events_.clear();
  schedule_.clear();
  ordered_steps_.clear();
  for (unsigned i = 0; i < max_threads; ++i) {
    interrupted_[i].clear();
    steps_of_[i].clear();
  }
  last_step_.fill(-1);
  sleepers_.clear();
  fresh_since_ = 0;
  idle_turns_ = 0;
  idle_ = false;
  unscheduled_ = 0;
  last_actor_ = nobody;
  record_.clear();
  observed_.clear();
  names_.clear();
}

execution::ending execution::run(const body& of, search& by, bool recorded) {
  reset(of, by, recorded);
  simulated_thread& main = threads_[0];
  main.name = "main";
  main.on_exit = nullptr;
  main.clock = 1'000'000'000;
  running_ = &main;
  main.own.reset();
  main.own.take_place();
  current_execution = this;
  fibers_[0].start(enter_thread, &main);
  fibers_[0].resume(engine_);
  current_execution = nullptr;
  return ending_;
}

void execution::enter_thread(void* argument) {
  execution& run = *current_execution;
  auto& t = *static_cast<simulated_thread*>(argument);
  try {
    if (t.number == 0) {
      run.run_main();
    } else {
      run.run_thread(t);
    }
  } catch (const std::exception& thrown) {
    run.fail(violation_kind::assertion,
             std::string("an exception leaves ") + t.name + ": " + thrown.what(),
             std::source_location::current());
  }
}

void execution::run_main() {
  scenario described(*this);
  (*body_)(described);
  for (unsigned i = 1; i < thread_count_; ++i) switch_to(i);
  begin_concurrency();
  if (const simulated_thread* first = decide()) switch_to(first->number);
  concurrent_ = false;
  for (unsigned i = 1; i < thread_count_; ++i) switch_to(i);
  finally_();
  if (threads_[0].on_exit != nullptr) threads_[0].on_exit();
  stop(ending::complete);
}

void execution::run_thread(simulated_thread& t) {
  t.before();
  switch_to(0);
  operation start{.what = kind::start, .at = std::source_location::current()};
  t.pending = &start;
  switch_to(0);
  carry_out(t, start);
  t.body();
  if (t.exits_at_once && t.on_exit != nullptr) t.on_exit();
  t.finished = true;
  t.pending = nullptr;
  const simulated_thread* next = decide();
  switch_to(next != nullptr ? next->number : 0);
  if (!t.exits_at_once && t.on_exit != nullptr) t.on_exit();
  switch_to(0);
}

void execution::begin_concurrency() {
  search_->start(*this);
  memory_->start(*this);
  for (unsigned i = 0; i < thread_count_; ++i) {
    threads_[i].now = views_.empty();
    threads_[i].now->clock[i] = 1;
  }
  // Up to here the threads have stopped after `before`; now each stands before its start.
  for (unsigned i = 1; i < thread_count_; ++i) switch_to(i);
  concurrent_ = true;
}

simulated_thread& execution::add_thread(const char* name, closure before, closure run) {
  if (thread_count_ == max_threads) throw std::length_error("too many threads in a scenario");
  simulated_thread& t = threads_[thread_count_];
  t.name = name;
  t.before = before;
  t.body = run;
  t.exits_at_once = false;
  t.switches = 0;
  t.switched = nullptr;
  t.pending = nullptr;
  t.finished = false;
  t.pending_acquire = t.released = nullptr;
  t.asleep_on = nullptr;
  t.woken = false;
  t.timeouts = 0;
  t.looks.clear();
  t.accesses = 0;
  t.clock = 1'000'000'000;
  t.on_exit = nullptr;
  t.own.reset();
  fibers_[thread_count_].start(enter_thread, &t);
  ++thread_count_;
  return t;
}

void execution::switch_to(unsigned number) {
  simulated_thread& next = threads_[number];
  simulated_thread& self = *running_;
  if (&next == &self) return;
  self.own.save();
  next.own.take_place();
  running_ = &next;
  fibers_[number].resume(fibers_[self.number]);
}

void execution::stop(ending how) {
  ending_ = how;
  engine_.resume(fibers_[running_->number]);
  __builtin_unreachable();
}

void execution::fail(violation_kind kind, std::string what, std::source_location at) {
  violation_ = {kind, std::move(what), at};
  stop(ending::violated);
}

}  // namespace readmost::model
