// SPDX-License-Identifier: Apache-2.0
// System calls and interrupts.
#include <algorithm>
#include <cmath>

#include "simulation/machine.hpp"

namespace readmost::simulation {

namespace {

// An idle CPU polls for work, or its hypervisor does, before it goes where waking it takes longer:
// the idle times at which the two are measured are 5 and 100 us (tools/readmost/machine).
constexpr duration until_deep_sleep = 20'000'000;

duration told(bool applies, duration special, duration usual) {
  return applies && special != 0 ? special : usual;
}

}  // namespace

void machine::enter_kernel() {
  begin_action();
  settle();
  reach(now_ + on_.system_call, spending::kernel);
  if (is_arm()) cpu().early.order(now_);
}

// --- membarrier --------------------------------------------------------------------------------

// An interrupt goes to each other CPU that runs a thread; each answers when its store buffer is
// empty. Idle CPUs and threads without a CPU are left alone: they went through the kernel. False if
// this kernel has no membarrier.
bool machine::membarrier() {
  enter_kernel();
  if (on_.refuses_membarrier) return false;
  empty_buffer();
  reach(now_ + on_.membarrier, spending::kernel);
  const std::uint64_t number = next_membarrier_++;
  std::vector<unsigned> targets;
  for (const processor& each : cpus_) {
    if (each.runs != nullptr && each.runs != running_) targets.push_back(each.number);
  }
  if (targets.empty()) return true;
  interrupts_sent_ += targets.size();
  membarriers_[number] = {running_, static_cast<unsigned>(targets.size()), now_};
  instant sent = now_;
  for (const unsigned target : targets) {
    sent += on_.interrupt_send;
    events_.add(sent + on_.interrupt_take, event::kind::interrupt, target, number);
  }
  ++running_->waits;
  wait(spending::kernel);
  return true;
}

void machine::interrupt(processor& at, std::uint64_t membarrier) {
  if (at.away_until > now_) {
    events_.add(at.away_until, event::kind::interrupt, at.number, membarrier);
    return;
  }
  at.stolen += on_.interrupt_handle;
  if (is_arm()) at.early.order(now_);
  if (at.drains) {
    at.fences_pending.push_back(membarrier);
  } else {
    acknowledge(membarrier, now_ + on_.interrupt_handle);
  }
}

void machine::acknowledge(std::uint64_t membarrier, instant when) {
  const auto found = membarriers_.find(membarrier);
  pending_membarrier& of = found->second;
  of.answered = std::max(of.answered, when);
  if (--of.unanswered != 0) return;
  go_on(*of.caller, of.answered);
  membarriers_.erase(found);
}

// --- A hypervisor that runs others ---------------------------------------------------------------

// At random, for the same time each. The kernel of the machine knows nothing of it: the thread
// counts as running, and an interrupt waits until the CPU is back.
void machine::plan_steal(processor& of, instant after) {
  const double share = on_.stolen_share;
  const double between = static_cast<double>(on_.stolen_for) * (1 - share) / share;
  const double uniform = (static_cast<double>(random() >> 11) + 1) / 0x1p53;
  const auto until = static_cast<duration>(-std::log(uniform) * between);
  events_.add(after + until, event::kind::steal, of.number);
}

void machine::steal(processor& of) {
  of.away_until = now_ + on_.stolen_for;
  if (of.runs != nullptr) of.stolen += on_.stolen_for;
  plan_steal(of, of.away_until);
}

// --- futex -------------------------------------------------------------------------------------

model::sleep_end machine::futex_wait(const void* address, std::uint32_t expected,
                                     std::uint32_t mask, instant until, std::source_location at) {
  enter_kernel();
  empty_buffer();
  // The lock of the hash bucket, as part of the word's line; then the word.
  const served when = lines_.write(cpu().number, address, now_, on_.hit + on_.atomic, at);
  reach(when.end, spending::kernel);
  if (value_at(address, sizeof expected) != expected) return model::sleep_end::none;
  // From the comparison to the queue nothing else happens.
  fall_asleep(address, mask, until);
  const bool woken = running_->was_woken;
  reach(now_ + on_.futex_wait, spending::kernel);
  return woken ? model::sleep_end::woken : model::sleep_end::timed_out;
}

void machine::fall_asleep(const void* queue, std::uint32_t mask, instant until) {
  simulated_thread& me = *running_;
  me.asleep = true;
  me.queue = queue;
  me.mask = mask;
  ++me.waits;
  if (queue != nullptr) sleepers_[queue].push_back(&me);
  if (until != 0) {
    events_.add(std::max(until, now_), event::kind::time_out, me.number, me.waits);
  }
  leave_cpu(spending::asleep);
}

duration machine::wake(simulated_thread& sleeper, bool woken) {
  if (sleeper.queue != nullptr) std::erase(sleepers_[sleeper.queue], &sleeper);
  sleeper.asleep = false;
  sleeper.was_woken = woken;
  sleeper.spent[static_cast<unsigned>(spending::asleep)] += now_ - sleeper.since;
  sleeper.since = now_;
  const processor* const idle = idle_near(sleeper.cpu);
  const bool soon = idle != nullptr && now_ < idle->idle_since + until_deep_sleep;
  make_ready(sleeper, told(soon, on_.wake_up_soon, on_.wake_up));
  return idle == nullptr ? told(true, on_.futex_wake_busy, on_.futex_wake)
                         : told(soon, on_.futex_wake_soon, on_.futex_wake);
}

int machine::futex_wake(const void* address, int count, std::uint32_t mask,
                        std::source_location at) {
  enter_kernel();
  empty_buffer();
  const served when = lines_.write(cpu().number, address, now_, on_.hit + on_.atomic, at);
  reach(when.end, spending::kernel);
  int woken = 0;
  while (woken < count) {
    auto& queue = sleepers_[address];
    const auto first = std::ranges::find_if(
        queue, [mask](const simulated_thread* each) { return (each->mask & mask) != 0; });
    if (first == queue.end()) break;
    const duration cost = wake(**first, true);
    ++woken;
    reach(now_ + cost, spending::kernel);
  }
  return woken;
}

void machine::sleep_until(instant until) {
  enter_kernel();
  empty_buffer();
  fall_asleep(nullptr, 0, until);
}

void machine::yield() {
  enter_kernel();
  if (!cpu().ready.empty()) give_way();
}

}  // namespace readmost::simulation
