// SPDX-License-Identifier: Apache-2.0
// The choice of the thread or store buffer that acts next.
#include <stdexcept>

#include "engine/execution.hpp"
#include "engine/search.hpp"

namespace readmost::model {

std::uint32_t execution::pick(std::uint32_t outcomes) {
  const std::uint32_t picked = search_->pick(outcomes);
  schedule_.back().outcome = static_cast<std::uint16_t>(picked);
  return picked;
}

bool execution::is_ready(const simulated_thread& t) const {
  if (t.pending == nullptr) return false;
  const operation& what = *t.pending;
  switch (what.what) {
    case kind::awake:
      return t.woken || (t.asleep_timed && t.timeouts < machine_.timeouts);
    case kind::yield:
      for (const auto& look : t.looks) {
        if (memory_->has_changed(t, look)) return true;
      }
      return idle_;
    default:
      return memory_->is_ready(t, what);
  }
}

actors execution::ready_actors() const {
  actors ready = 0;
  for (unsigned i = 1; i < thread_count_; ++i) {
    if (is_ready(threads_[i])) ready |= only(i);
    if (memory_->can_drain(threads_[i])) ready |= only(buffer_of(i));
  }
  return ready;
}

// Records how far the running thread has come since its last step, by accesses that are no steps.
void execution::note_progress() {
  for (std::size_t i = schedule_.size(); i-- > 0;) {
    if (is_buffer(schedule_[i].who)) continue;
    const simulated_thread& t = threads_[schedule_[i].who];
    schedule_[i].until = t.pending != nullptr ? t.pending->access - 1 : t.accesses;
    return;
  }
}

simulated_thread* execution::decide() {
  for (;;) {
    if (events_.size() >= limits_.steps) {
      fail(violation_kind::livelock, "no end after " + std::to_string(limits_.steps) + " steps",
           std::source_location::current());
    }
    actors ready = ready_actors();
    if (ready == 0) {
      bool unfinished = false;
      bool looks_again = false;
      for (unsigned i = 1; i < thread_count_; ++i) {
        unfinished |= !threads_[i].finished;
        looks_again |= threads_[i].pending != nullptr && threads_[i].pending->what == kind::yield;
      }
      if (!unfinished) return nullptr;
      if (!looks_again) nothing_can_happen();
      if (++idle_turns_ > limits_.idle_turns) {
        fail(violation_kind::livelock, "threads spin, waiting for a store that no thread will make",
             std::source_location::current());
      }
      idle_ = true;
      ready = ready_actors();
    }
    std::uint32_t since = 0;
    const actor who = search_->choose(*this, ready, last_actor_, since);
    if (who == nobody) stop(ending::abandoned);
    note_progress();
    last_actor_ = who;
    fresh_since_ = since;
    schedule_.push_back(
        {static_cast<std::uint8_t>(who), 0, is_buffer(who) ? 0 : threads_[who].pending->access});
    if (!is_buffer(who)) return &threads_[who];
    drain(thread_of(who));
  }
}

void execution::nothing_can_happen() {
  std::string text;
  bool all_asleep = true;
  for (unsigned i = 1; i < thread_count_; ++i) {
    const simulated_thread& t = threads_[i];
    if (t.finished) continue;
    if (!text.empty()) text += "; ";
    text += t.name;
    if (t.pending->what == kind::awake) {
      text += " sleeps on " + describe(reinterpret_cast<const void*>(t.asleep_on->address));
      if (t.asleep_timed) text += " until its deadline";
    } else {
      all_asleep = false;
      text += " cannot go on";
    }
  }
  fail(all_asleep ? violation_kind::lost_wake_up : violation_kind::deadlock,
       "no thread can go on: " + text, std::source_location::current());
}

void execution::offer_switch(std::source_location at) {
  simulated_thread& self = *running_;
  if (self.switches == 0) return;
  const unsigned left = self.switches;
  self.switches = 0;  // not during a switch
  operation offer{.what = kind::preempt, .order = std::memory_order_relaxed, .at = at};
  act(offer);
  if (offer.success) self.switched();
  self.switches = offer.success ? left - 1 : left;
}

void execution::act(operation& what) {
  simulated_thread& self = *running_;
  // What is_scheduled() has not counted.
  if (what.where == nullptr || what.what == kind::awake || what.what == kind::futex_wake) {
    ++self.accesses;
  }
  what.access = self.accesses;
  self.pending = &what;
  const simulated_thread* next = decide();
  switch_to(next->number);
  carry_out(self, what);
  offer_switch(what.at);
}

}  // namespace readmost::model
