// SPDX-License-Identifier: Apache-2.0
// The operations of the simulated platform. Each waits for its turn if other threads may notice it.
#include <cstring>

#include "engine/address_table.hpp"
#include "engine/execution.hpp"
#include "engine/synchronization.hpp"

namespace readmost::model {

location& execution::find(const void* address, std::uint32_t size) {
  location& found = look_up(table_, locations_, reinterpret_cast<std::uintptr_t>(address));
  if (found.run != run_) [[unlikely]] {
    found.run = run_;
    found.size = size;
    found.retired = false;
    found.value = 0;
    std::memcpy(&found.value, address, size);
    if (found.shared) {
      found.last = {};
      found.history.clear();
      found.steps.clear();
      found.changes = 0;
    }
    found.queue_steps.clear();  // a word may be slept on that nobody writes
  }
  return found;
}

void execution::start_history(location& where) {
  if (model_ == memory_model::release_acquire && where.history.empty()) {
    where.history.push_back({where.value, 0, nullptr, 0, 0});
  }
}

void execution::check_alive(const location& where, std::source_location at) {
  if (!where.retired) return;
  fail(violation_kind::use_after_free,
       describe(reinterpret_cast<const void*>(where.address)) + " is touched by " + running_->name +
           " after the end of its life",
       at);
}

bool execution::is_scheduled(location& where, bool writes, std::source_location at) {
  if (!concurrent_) return false;
  ++running_->accesses;
  if (where.shared) [[likely]]
    return true;
  check_alive(where, at);
  where.threads |= static_cast<std::uint8_t>(1U << running_->number);
  where.written |= writes;
  // A loop that waits for a store of another thread would keep that from ever running.
  constexpr std::uint32_t accesses_of_a_step = 20;
  const bool loops = ++unscheduled_ > limits_.steps * accesses_of_a_step;
  if (loops || (where.written && (where.threads & (where.threads - 1)) != 0)) {
    where.shared = true;
    where.index = shared_count_++;
    stop(ending::surprised);
  }
  return false;
}

void execution::drain_before_update(std::source_location at) {
  if (!concurrent_ || !memory_->has_buffered(running_->number)) return;
  --running_->accesses;  // counted already
  fence(std::memory_order_seq_cst, at);
}

std::uint64_t execution::load(const void* address, std::uint32_t size, std::memory_order order,
                              std::source_location at) {
  location& where = find(address, size);
  if (!is_scheduled(where, false, at)) return where.value;
  operation what{.what = kind::load, .order = order, .where = &where, .at = at};
  act(what);
  return what.result;
}

void execution::store(void* address, std::uint32_t size, std::uint64_t value,
                      std::memory_order order, std::source_location at) {
  location& where = find(address, size);
  if (!is_scheduled(where, true, at)) {
    where.value = value & mask_of(size);
    return;
  }
  operation what{.what = kind::store, .order = order, .where = &where, .operand = value, .at = at};
  act(what);
}

std::uint64_t execution::update(void* address, std::uint32_t size, arithmetic how,
                                std::uint64_t operand, std::memory_order order,
                                std::source_location at) {
  location& where = find(address, size);
  operation what{.what = kind::update,
                 .how = how,
                 .order = order,
                 .where = &where,
                 .operand = operand,
                 .at = at};
  if (!is_scheduled(where, true, at)) {
    drain_before_update(at);
    const std::uint64_t old = where.value;
    where.value = combine(what.how, old, what.operand, size);
    return old;
  }
  act(what);
  return what.result;
}

bool execution::compare(void* address, std::uint32_t size, std::uint64_t& expected,
                        std::uint64_t desired, std::memory_order success, std::memory_order failure,
                        std::source_location at) {
  location& where = find(address, size);
  if (!is_scheduled(where, true, at)) {
    drain_before_update(at);
    if (where.value != expected) {
      expected = where.value;
      return false;
    }
    where.value = desired & mask_of(size);
    return true;
  }
  operation what{.what = kind::compare,
                 .order = success,
                 .failure = failure,
                 .where = &where,
                 .operand = desired,
                 .expected = expected,
                 .at = at};
  act(what);
  if (!what.success) expected = what.result;
  return what.success;
}

void execution::begin_life(void* address, std::uint32_t size, std::uint64_t value) {
  location& where = find(address, size);
  const bool scheduled = is_scheduled(where, true, std::source_location::current());
  where.retired = false;
  if (scheduled) {
    operation what{.what = kind::store,
                   .order = std::memory_order_relaxed,
                   .where = &where,
                   .operand = value,
                   .at = std::source_location::current()};
    act(what);
  } else {
    where.value = value;
  }
}

void execution::end_life(void* address, std::uint32_t size, std::source_location at) {
  location& where = find(address, size);
  if (!is_scheduled(where, true, at)) {
    where.retired = true;
    return;
  }
  operation what{.what = kind::retire, .where = &where, .at = at};
  act(what);
}

void execution::fence(std::memory_order order, std::source_location at) {
  if (!concurrent_) return;
  operation what{.what = kind::fence, .order = order, .at = at};
  act(what);
}

// As membarrier(2) says: a full fence at the call, one at the return, and in between one on each
// other thread, at any time. They come in the order of the threads' numbers, which the kernel does
// not promise.
void execution::interrupt_others(std::source_location at) {
  fence(std::memory_order_seq_cst, at);
  for (unsigned i = 1; i < thread_count_; ++i) {
    if (i == running_->number) continue;
    operation what{.what = kind::interrupt, .target = i, .at = at};
    act(what);
  }
  fence(std::memory_order_seq_cst, at);
}

bool execution::membarrier(std::source_location at) {
  if (!machine_.membarrier) return false;
  if (!concurrent_) return true;
  interrupt_others(at);
  return true;
}

void execution::pass_time(std::uint64_t nanoseconds, std::source_location at) {
  running_->clock += nanoseconds;
  if (!concurrent_) return;
  interrupt_others(at);
}

void execution::sink_last_store() {
  if (concurrent_) memory_->sink_last_store(running_->number);
}

void execution::yield(std::source_location at) {
  if (!concurrent_) return;
  operation what{.what = kind::yield, .at = at};
  act(what);
}

std::uint64_t execution::now() {
  return running_->clock += machine_.clock_step;
}

sleep_end execution::futex_wait(const void* address, std::uint32_t expected, std::uint32_t mask,
                                bool timed, std::source_location at) {
  location& where = find(address, sizeof(std::uint32_t));
  if (!is_scheduled(where, true, at)) {
    if (static_cast<std::uint32_t>(where.value) != expected) return sleep_end::none;
    if (!concurrent_) {
      fail(violation_kind::deadlock, std::string(running_->name) + " would sleep for ever", at);
    }
    // No other thread has accessed the word yet. From now on it counts as shared.
    where.threads = 0xFF;
    is_scheduled(where, true, at);
  }
  operation what{.what = kind::futex_wait,
                 .order = std::memory_order_relaxed,
                 .where = &where,
                 .expected = expected,
                 .mask = mask,
                 .at = at};
  running_->asleep_timed = timed;
  act(what);
  if (!what.success) return sleep_end::none;
  operation awake{.what = kind::awake, .where = &where, .at = at};
  act(awake);
  return awake.success ? sleep_end::woken : sleep_end::timed_out;
}

int execution::futex_wake(const void* address, int count, std::uint32_t mask,
                          std::source_location at) {
  if (!concurrent_) return 0;
  location& where = find(address, sizeof(std::uint32_t));
  operation what{.what = kind::futex_wake,
                 .where = &where,
                 .operand = static_cast<std::uint64_t>(count),
                 .mask = mask,
                 .at = at};
  act(what);
  return static_cast<int>(what.result);
}

}  // namespace readmost::model
