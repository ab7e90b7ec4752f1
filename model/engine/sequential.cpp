// SPDX-License-Identifier: Apache-2.0
#include "engine/sequential.hpp"

namespace readmost::model {

std::unique_ptr<memory> make_sequential() {
  return std::make_unique<sequential_memory>();
}

void sequential_memory::start(execution& run) {
  sync_.start(run.all_views());
}

bool sequential_memory::has_changed(const simulated_thread&, const look& at) const {
  return at.where->changes != at.changes;
}

void sequential_memory::read(simulated_thread& who, operation& what) {
  what.result = what.where->value;
  sync_.acquire(who, what.where->last, what.order);
}

void sequential_memory::write(location& where, const message& stored) {
  where.value = stored.value;
  where.last = stored;
  ++where.changes;
}

void sequential_memory::update(execution& run, simulated_thread& who, operation& what) {
  location& where = *what.where;
  what.result = where.value;
  if (what.what == kind::compare) {
    what.success = where.value == what.expected;
    if (!what.success) {
      sync_.acquire(who, where.last, what.failure);
      return;
    }
  }
  sync_.acquire(who, where.last, what.order);
  const std::uint64_t made = combine(what.how, where.value, what.operand, where.size);
  write(where, {made, 0, sync_.publish(who, what.order, &where.last), run.step(),
                static_cast<std::uint8_t>(who.number)});
}

void sequential_memory::perform(execution& run, simulated_thread& who, operation& what) {
  switch (what.what) {
    case kind::load:
    case kind::futex_wait:
      read(who, what);
      break;
    case kind::store:
      write(*what.where,
            {what.operand & mask_of(what.where->size), 0, sync_.publish(who, what.order, nullptr),
             run.step(), static_cast<std::uint8_t>(who.number)});
      break;
    case kind::update:
    case kind::compare:
      update(run, who, what);
      break;
    case kind::fence:
      sync_.fence(who, what.order);
      break;
    case kind::interrupt:
      sync_.fence(run.thread(what.target), std::memory_order_seq_cst);
      break;
    default:
      break;
  }
}

relation sequential_memory::relate(const footprint& first, const footprint& second) const {
  if (first.thread == second.thread) return relation::independent;
  const bool same_memory =
      first.where != nullptr && first.where == second.where && (first.writes || second.writes);
  const bool same_queue = first.queue != nullptr && first.queue == second.queue;
  return same_memory || same_queue ? relation::dependent : relation::independent;
}

bool sequential_memory::race(const footprint& first, const footprint& second) const {
  return relate(first, second) == relation::dependent;
}

bool sequential_memory::orders(const footprint& first, const footprint& second) const {
  return relate(first, second) == relation::dependent;
}

}  // namespace readmost::model
