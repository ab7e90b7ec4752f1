// SPDX-License-Identifier: Apache-2.0
// A step of an execution: what it does, and what it knows of the steps before it.
#include "engine/execution.hpp"
#include "engine/search.hpp"

namespace readmost::model {

footprint execution::footprint_of(actor who) const {
  footprint made;
  if (!is_buffer(who)) {
    memory_->footprint_of(threads_[who], *threads_[who].pending, made);
    return made;
  }
  made.thread = static_cast<std::uint8_t>(thread_of(who));
  made.where = memory_->oldest_buffered(thread_of(who));
  made.writes = true;
  made.is_late = memory_->is_late(thread_of(who));
  return made;
}

void execution::carry_out(simulated_thread& who, operation& what) {
  unscheduled_ = 0;
  event& made = events_.emplace_back();
  made.who = who.number;
  const std::int32_t last = last_step_[who.number];
  if (last >= 0) made.known = events_[static_cast<std::size_t>(last)].known;
  const auto knows_of = [&](std::int32_t index) {
    if (index < 0) return;
    const auto& known = events_[static_cast<std::size_t>(index)].known;
    for (unsigned i = 0; i < max_actors; ++i) made.known[i] = std::max(made.known[i], known[i]);
  };
  // An operation that waits for a store buffer comes after what the buffer did.
  if (memory_->drains(what)) knows_of(last_step_[buffer_of(who.number)]);
  if (what.what == kind::awake && who.woken) {
    knows_of(static_cast<std::int32_t>(who.woken_by) - 1);
  }
  memory_->footprint_of(who, what, made.touched);
  if (what.where != nullptr && what.what != kind::futex_wake && what.what != kind::awake) {
    check_alive(*what.where, what.at);
    start_history(*what.where);
  }
  if (what.what == kind::load || what.what == kind::compare || what.what == kind::update) {
    who.looks.push_back({what.where, what.where->changes, 0});
  }
  const std::uint32_t changes = what.where != nullptr ? what.where->changes : 0;
  memory_->perform(*this, who, what);
  if (what.where != nullptr) forget_own_changes(who, *what.where, changes);
  switch (what.what) {
    case kind::load:
    case kind::update:
      who.looks.back().place = memory_->read_place();
      break;
    case kind::compare:
      who.looks.back().place = memory_->read_place();
      made.touched.writes = what.success;
      break;
    case kind::futex_wait:
      what.success = static_cast<std::uint32_t>(what.result) == what.expected;
      if (what.success) fall_asleep(who, what);
      break;
    case kind::futex_wake:
      wake_up(who, what);
      break;
    case kind::awake:
      wake(who, what);
      break;
    case kind::preempt:
      what.success = pick(2) != 0;
      break;
    case kind::yield:
      if (idle_) who.clock += 3'000'000'000;
      break;
    case kind::retire:
      what.where->retired = true;
      break;
    default:
      break;
  }
  idle_ = false;
  made.read_from = memory_->read_from();
  before_latest_.known = made.known;
  before_latest_.known[who.number] = static_cast<std::uint16_t>(events_.size());
  made.known[who.number] = static_cast<std::uint16_t>(events_.size());
  // It waited for the other thread's buffer, but could also have come before the stores in there.
  if (what.what == kind::interrupt) knows_of(last_step_[buffer_of(what.target)]);
  finish_event(made);
  if (what.what == kind::yield) who.looks.clear();
  if (recorded_) record_step(who.number, what);
}

// A thread that spins waits for changes by others, not for its own.
void execution::forget_own_changes(simulated_thread& who, const location& where,
                                   std::uint32_t before) {
  if (where.changes == before) return;
  for (auto& look : who.looks) {
    if (look.where == &where) look.changes += where.changes - before;
  }
}

void execution::drain(unsigned thread) {
  const actor who = buffer_of(thread);
  const footprint touched = footprint_of(who);
  if (touched.where->retired) {
    check_alive(*touched.where, std::source_location::current());
  }
  event& made = events_.emplace_back();
  made.who = who;
  made.touched = touched;
  const std::int32_t last = last_step_[who];
  if (last >= 0) made.known = events_[static_cast<std::size_t>(last)].known;
  operation what{.what = kind::drain, .where = touched.where, .at = {}};
  const std::uint32_t changes = touched.where->changes;
  const std::uint32_t stored = memory_->drain(*this, thread);
  forget_own_changes(threads_[thread], *touched.where, changes);
  what.operand = touched.where->value;
  const auto& known = events_[stored - 1].known;
  for (unsigned i = 0; i < max_actors; ++i) made.known[i] = std::max(made.known[i], known[i]);
  made.known[who] = static_cast<std::uint16_t>(events_.size());
  before_latest_.known = made.known;
  finish_event(made);
  if (recorded_) record_step(who, what);
}

void execution::finish_event(event& made) {
  const auto knows = [&](const event& other) {
    for (unsigned i = 0; i < max_actors; ++i) {
      made.known[i] = std::max(made.known[i], other.known[i]);
    }
  };
  for_each_candidate([&](std::uint32_t candidate) {
    const event& other = events_[candidate];
    if (!made.knows(candidate, other.who) && memory_->orders(other.touched, made.touched)) {
      knows(other);
    }
  });
  if (made.read_from != 0) knows(events_[made.read_from - 1]);
  search_->happened(*this);
  note_steps(made);
}

void execution::note_steps(const event& made) {
  const auto index = static_cast<std::uint32_t>(events_.size() - 1);
  const footprint& touched = made.touched;
  if (touched.where != nullptr) touched.where->steps.push_back(index);
  if (touched.queue != nullptr) touched.queue->queue_steps.push_back(index);
  if (touched.looks != 0) {
    for (const auto& look : threads_[touched.thread].looks) look.where->steps.push_back(index);
  }
  if (touched.fences || touched.seq_cst) ordered_steps_.push_back(index);
  if (touched.interrupts >= 0) {
    interrupted_[static_cast<unsigned>(touched.interrupts)].push_back(index);
  }
  steps_of_[touched.thread].push_back(index);
  last_step_[made.who] = static_cast<std::int32_t>(index);
}

void execution::fall_asleep(simulated_thread& who, const operation& what) {
  who.asleep_on = what.where;
  who.asleep_mask = what.mask;
  who.woken = false;
  sleepers_.push_back(who.number);
}

void execution::wake_up(simulated_thread& waker, operation& what) {
  what.result = 0;
  for (std::size_t i = 0; i < sleepers_.size() && what.result < what.operand;) {
    simulated_thread& t = threads_[sleepers_[i]];
    if (t.asleep_on != what.where || (t.asleep_mask & what.mask) == 0) {
      ++i;
      continue;
    }
    t.woken = true;
    t.woken_by = step();
    // The kernel orders what the waker did before what the woken thread does.
    views_.join_positions(*t.now, *waker.now);
    sleepers_.erase(sleepers_.begin() + static_cast<std::ptrdiff_t>(i));
    ++what.result;
  }
}

void execution::wake(simulated_thread& who, operation& what) {
  what.success = who.woken;
  if (!who.woken) {
    std::erase(sleepers_, who.number);
    ++who.timeouts;
    who.clock += 3'000'000'000;
  }
  who.asleep_on = nullptr;
  who.woken = false;
}

}  // namespace readmost::model
