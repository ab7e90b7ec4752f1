// SPDX-License-Identifier: Apache-2.0
// Which thread runs on which CPU: a queue for each CPU, time slices when others wait, idle CPUs
// that take threads from the longest queue. A thread that is woken goes to its last CPU if that is
// idle, else to the nearest idle one, else to the end of its last CPU's queue: it preempts nobody.
#include <algorithm>

#include "simulation/machine.hpp"

namespace readmost::simulation {

processor* machine::idle_near(unsigned cpu) {
  processor* best = nullptr;
  for (processor& each : cpus_) {
    if (each.runs != nullptr || !each.ready.empty()) continue;
    if (best == nullptr || on_.between(cpu, each.number) < on_.between(cpu, best->number)) {
      best = &each;
    }
  }
  return best;
}

void machine::make_ready(simulated_thread& which, duration latency) {
  ++which.waits;
  which.waits_for = spending::ready;
  if (processor* idle = idle_near(which.cpu)) {
    put_on(*idle, which, now_ + latency, false);
  } else {
    cpus_[which.cpu].ready.push_back(&which);
  }
}

void machine::put_on(processor& on, simulated_thread& next, instant when, bool switches) {
  if (switches) when += on_.switch_threads;
  if (next.cpu != on.number) when += on_.migrate;
  when = std::max(when, on.away_until);
  next.cpu = on.number;
  on.runs = &next;
  on.slice_ends = when + on_.time_slice;
  go_on(next, when);
}

void machine::run_next(processor& on, instant when) {
  on.runs = nullptr;
  processor* from = &on;
  if (on.ready.empty()) {
    from = &*std::ranges::max_element(cpus_, {}, [](const processor& p) { return p.ready.size(); });
    if (from->ready.empty()) {
      on.idle_since = when;
      return;
    }
  }
  simulated_thread& next = *from->ready.front();
  from->ready.pop_front();
  put_on(on, next, when, true);
}

// The running thread stops to run until make_ready() and its turn.
void machine::leave_cpu(spending on) {
  processor& where = cpu();
  run_next(where, now_);
  wait(on);
}

void machine::give_way() {
  // A switch of threads empties the store buffer.
  empty_buffer();
  processor& where = cpu();
  if (where.ready.empty()) return;
  simulated_thread& me = *running_;
  ++me.waits;
  where.ready.push_back(&me);
  run_next(where, now_);
  wait(spending::ready);
}

}  // namespace readmost::simulation
