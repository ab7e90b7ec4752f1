// SPDX-License-Identifier: Apache-2.0
#include "simulation/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "simulation/instruction_counts.hpp"

namespace readmost::simulation {

namespace {

// Fixed, because the library hashes addresses: so results do not change from run to run.
constexpr std::uintptr_t memory_at = 0x5300'0000'0000;
constexpr std::size_t memory_size = std::size_t{1} << 30;

constexpr duration most_work_beside_accesses = 1'000'000;  // picoseconds

// A core that has room for `window` cycles of instructions, several of which begin in each cycle,
// has room for so many times as much work: instructions that need one another's results.
constexpr duration more_work_than_instructions = 5;

std::uintptr_t line_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) / 64;
}
std::uintptr_t word_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) & ~std::uintptr_t{7};
}
std::uint64_t whole_word(std::uintptr_t word) {
  return value_at(reinterpret_cast<const void*>(word), sizeof word);
}
std::uint64_t value_within(std::uint64_t word, const void* address, std::uint32_t size) {
  const auto offset = reinterpret_cast<std::uintptr_t>(address) & 7;
  return value_at(reinterpret_cast<const char*>(&word) + offset, size);
}

}  // namespace

const char* name_of(spending on) noexcept {
  static constexpr const char* names[] = {"instructions", "transfers", "store buffer", "kernel",
                                          "interrupts",   "asleep",    "ready"};
  return names[static_cast<unsigned>(on)];
}

machine* machine::current_machine = nullptr;

machine::machine(const machine_description& on, std::uint64_t seed)
    : on_(on),
      memory_(memory_at, memory_size),
      lines_(on_, ~seed),
      cpus_(on_.cpus()),
      random_(seed) {
  for (unsigned i = 0; i < cpus_.size(); ++i) cpus_[i].number = i;
  if (steals()) {
    for (processor& each : cpus_) plan_steal(each, 0);
  }
}

machine::~machine() = default;

// --- Threads -----------------------------------------------------------------------------------

simulated_thread& machine::add_thread(std::string name, std::function<void()> body) {
  simulated_thread& made = threads_.emplace_back();
  made.number = static_cast<std::uint32_t>(threads_.size() - 1);
  made.name = std::move(name);
  made.body = std::move(body);
  made.cpu = next_cpu_;
  next_cpu_ = (next_cpu_ + 1) % on_.cpus();
  made.beside_access = on_.time_of(usual_beside_access);
  made.fiber.start(enter_thread, this);
  ++unfinished_;
  made.since = now_;
  make_ready(made, running_ != nullptr ? on_.wake_up : random() % 1'000'000);
  return made;
}

void machine::start_daemon(void (*body)(void*), void* argument) {
  enter_kernel();
  simulated_thread& made = add_thread("library", [body, argument] { body(argument); });
  made.is_daemon = true;
  --unfinished_;
}

void machine::enter_thread(void* of_machine) {
  auto& on = *static_cast<machine*>(of_machine);
  simulated_thread& me = *on.running_;
  try {
    me.body();
    if (me.on_exit != nullptr) me.on_exit();
  } catch (...) {
    on.thrown_ = std::current_exception();
  }
  on.settle();
  on.empty_buffer();
  me.finished = true;
  if (!me.is_daemon) --on.unfinished_;
  on.leave_cpu(spending::asleep);
  __builtin_unreachable();
}

void machine::run() {
  current_machine = this;
  while (unfinished_ != 0 && !thrown_) {
    if (events_.size() == (steals() ? cpus_.size() : 0)) {
      thrown_ = std::make_exception_ptr(no_thread_can_go_on());
    } else {
      handle(events_.take());
    }
  }
  current_machine = nullptr;
  if (thrown_) std::rethrow_exception(thrown_);
}

std::runtime_error machine::no_thread_can_go_on() const {
  std::string who;
  for (const simulated_thread& each : threads_) {
    if (!each.finished) who += (who.empty() ? "" : ", ") + each.name;
  }
  return std::runtime_error(fmt::format("no thread can go on: {} sleep", who));
}

void machine::resume(simulated_thread& next) {
  next.own.take_place();
  running_ = &next;
  next.fiber.resume(engine_);
  running_ = nullptr;
}

void machine::handle(const event& next) {
  now_ = next.at;
  switch (next.what) {
    case event::kind::run: {
      simulated_thread& whom = threads_[next.whom];
      if (whom.waits == next.number && !whom.finished) resume(whom);
      break;
    }
    case event::kind::time_out: {
      simulated_thread& whom = threads_[next.whom];
      if (whom.asleep && whom.waits == next.number) wake(whom, false);
      break;
    }
    case event::kind::drain:
      drain(cpus_[next.whom]);
      break;
    case event::kind::drained:
      drained(cpus_[next.whom]);
      break;
    case event::kind::interrupt:
      interrupt(cpus_[next.whom], next.number);
      break;
    case event::kind::steal:
      steal(cpus_[next.whom]);
      break;
  }
}

void machine::reset_spent() noexcept {
  for (simulated_thread& each : threads_) {
    for (duration& time : each.spent) time = 0;
    each.since = now_;
  }
}

// --- Time --------------------------------------------------------------------------------------

void machine::wait(spending on) {
  simulated_thread& me = *running_;
  me.waits_for = on;
  me.own.save();
  engine_.resume(me.fiber);
  me.spent[static_cast<unsigned>(me.waits_for)] += now_ - me.since;
  me.since = now_;
  if (on != spending::instructions) cpu().front = now_;
}

void machine::go_on(simulated_thread& with, instant when) {
  events_.add(when, event::kind::run, with.number, with.waits);
}

void machine::reach(instant when, spending on) {
  simulated_thread& me = *running_;
  if (when <= now_) return;
  // Nothing else happens before.
  if (events_.empty() || when < events_.first()) {
    now_ = when;
    me.spent[static_cast<unsigned>(on)] += now_ - me.since;
    me.since = now_;
    if (on != spending::instructions) cpu().front = now_;
    return;
  }
  ++me.waits;
  go_on(me, when);
  wait(on);
}

void machine::reach_end(served when) {
  const bool hits = when.end - when.effect <= on_.hit;
  reach(when.end, hits ? spending::instructions : spending::transfers);
}

// Interrupts and other threads get the CPU between two actions.
void machine::begin_action() {
  processor& on = cpu();
  // No instruction is further ahead of the last access than the core has room for.
  if (on.load_ended != now_) on.front = std::max(on.front + on_.window, now_) - on_.window;
  if (on.stolen != 0) {
    settle();
    const duration time = on.stolen;
    on.stolen = 0;
    reach(now_ + time, spending::interrupts);
  }
  if (!on.ready.empty() && now() >= on.slice_ends) {
    settle();
    give_way();
  }
}

void machine::settle() {
  reach(std::max({cpu().front, cpu().complete, cpu().committed}), spending::instructions);
  cpu().front = now_;
}

void machine::begin_access() {
  begin_action();
  reach(cpu().front, spending::instructions);
}

void machine::work(duration time) {
  begin_action();
  // What is short may run ahead of accesses, or beside them.
  if (cpu().front + time <= now_ + most_work_beside_accesses) {
    cpu().front += time;
    return;
  }
  reach(cpu().front, spending::instructions);
  while (time != 0) {
    begin_action();
    const duration part = std::min(time, on_.time_slice);
    reach(now_ + part, spending::instructions);
    time -= part;
  }
  cpu().front = now_;
  // Interrupts during the work made it longer.
  if (cpu().stolen != 0) begin_action();
}

bool machine::shares_core_with_busy() const noexcept {
  const processor& own = cpus_[running_->cpu];
  const unsigned threads = on_.threads_per_core > 1 ? on_.threads_per_core : 2;
  const unsigned first = own.number - own.number % threads;
  for (unsigned i = first; i < first + threads && i < cpus_.size(); ++i) {
    if (i != own.number && cpus_[i].runs != nullptr) return true;
  }
  return false;
}

void machine::pass(duration access) {
  ++accesses_;
  // The access is an instruction, too, and the others run beside it.
  duration time = std::max(access, on_.instruction + running_->beside_access);
  if (on_.instruction_beside > on_.instruction && on_.instruction != 0 && shares_core_with_busy()) {
    time = time * on_.instruction_beside / on_.instruction;
  }
  cpu().front += time;
}

// Lets nothing run ahead.
void machine::relax() {
  begin_access();
  reach(now_ + on_.relax, spending::instructions);
  cpu().front = now_;
}

std::uint64_t machine::read_clock() {
  work(on_.clock);
  return now() / 1000;
}

// --- Memory ------------------------------------------------------------------------------------

std::uint64_t machine::load(const void* address, std::uint32_t size, std::memory_order order,
                            std::source_location at) {
  begin_access();
  // LDAR comes after each STLR.
  if (is_arm() && order == std::memory_order_seq_cst && cpu().buffer.has_release()) empty_buffer();
  processor& on = cpu();
  const std::uintptr_t word = word_of(address);
  const auto done = [&](std::uint64_t seen) {
    pass(on_.hit);
    // A load of another word has run ahead of the last atomic.
    if (word == on.last_atomic) on.complete = std::max(on.complete, now_ + on_.complete);
    if (is_arm() && order != std::memory_order_relaxed) {
      on.early.order(now_);
      on.front += on_.acquire;
    }
    return seen;
  };
  if (on.buffer.overlaps(address, size)) return done(on.buffer.value_seen(address, size));
  if (is_arm()) {
    if (const auto back_to = on.early.back_to(word, now_)) {
      if (const auto was = past_.at(word, on.number, *back_to)) {
        on.early.note_seen(word, *back_to);
        return done(value_within(*was, address, size));
      }
    }
  }
  const instant begun = now_;
  const bool misses = !lines_.has(on.number, address);
  const served when = misses && expects_write_after(at)
                          ? lines_.write(on.number, address, now_, on_.hit, at)
                          : lines_.read(on.number, address, now_, at);
  reach(when.effect, spending::transfers);
  if (misses) {
    run_beside_load(begun);
    learn_of_miss(address, at);
  }
  if (is_arm()) {
    if (now_ > begun) on.early.note_wait(begun, now_, on_.window);
    on.early.note_seen(word, now_);
  }
  return done(value_at(address, size));
}

// What follows a load that has waited for its line, and is no atomic, has run meanwhile: cores
// predict what the load brings.
void machine::run_beside_load(instant begun) {
  processor& on = cpu();
  const duration most = more_work_than_instructions * on_.window;
  on.front = std::max(begun + most, now_) - most;
  on.load_ended = now_;
}

void machine::store(void* address, std::uint32_t size, std::uint64_t value, std::memory_order order,
                    std::source_location at, bool plain) {
  begin_access();
  learn_of_write(address);
  make_room();
  processor& on = cpu();
  on.buffer.add({.address = address,
                 .size = size,
                 .value = value,
                 .at = at,
                 .release = is_arm() && order != std::memory_order_relaxed,
                 .plain = plain});
  if (plain) set_value_at(address, size, value);
  if (!on.drains) {
    on.drains = true;
    events_.add(now_, event::kind::drain, on.number);
  } else if (is_arm()) {
    events_.add(now_, event::kind::drain, on.number);
  }
  on.committed = now_ + on_.commit;
  if (on.last_atomic == word_of(address)) on.last_atomic = 0;
  pass(on_.store);
}

// Cores run ahead of a load that waits, as their predictors expect its branches to go: a
// compare-and-swap that follows asks for the line at the same time as the load.
bool machine::expects_write_after(const std::source_location& load) const {
  const auto found = write_follows_.find({load.file_name(), load.line(), load.column()});
  return found != write_follows_.end() && found->second;
}

void machine::learn_of_miss(const void* address, const std::source_location& load) {
  auto& last = cpu().missed;
  if (last.line != 0) {
    write_follows_[{last.at.file_name(), last.at.line(), last.at.column()}] = false;
  }
  last = {line_of(address), load, now_};
}

void machine::learn_of_write(const void* address) {
  auto& last = cpu().missed;
  if (last.line != line_of(address)) return;
  write_follows_[{last.at.file_name(), last.at.line(), last.at.column()}] =
      now_ <= last.when + on_.window;
  last.line = 0;
}

void machine::begin_atomic(const void* address, std::uint32_t size, std::memory_order order) {
  begin_access();
  learn_of_write(address);
  reach(cpu().complete, spending::instructions);
  const bool comes_after_stores = !is_arm() || order == std::memory_order_release ||
                                  order == std::memory_order_acq_rel ||
                                  order == std::memory_order_seq_cst;
  if (comes_after_stores || cpu().buffer.overlaps(address, size)) {
    reach(cpu().committed, spending::instructions);
    empty_buffer();
  }
}

void machine::end_atomic(const void* address, std::memory_order order) {
  cpu().last_atomic = word_of(address);
  pass(on_.hit);
  if (!is_arm()) return;
  if (order != std::memory_order_relaxed && order != std::memory_order_release) {
    cpu().early.order(now_);
  }
}

void machine::change_memory(processor& by, void* address, std::uint32_t size, std::uint64_t value) {
  if (is_arm()) {
    const std::uintptr_t word = word_of(address);
    past_.add(word, {now_, whole_word(word), lines_.copies_before_last_write(address)});
    by.early.note_seen(word, now_);
  }
  set_value_at(address, size, value);
}

void machine::prefetch(const void* address, std::source_location at) {
  begin_access();
  processor& on = cpu();
  const auto is_over = [this](instant end) { return end <= now_; };
  std::erase_if(on.fetches, is_over);
  if (on.fetches.size() == on_.fill_buffers) {
    reach(std::ranges::min(on.fetches), spending::transfers);
    std::erase_if(on.fetches, is_over);
  }
  on.fetches.push_back(lines_.read(on.number, address, now_, at).end);
  pass(on_.hit);
}

void machine::prefetch_for_write(const void* address, std::source_location at) {
  begin_access();
  lines_.write(cpu().number, address, now_, on_.hit, at);
  pass(on_.hit);
}

void machine::fence() {
  begin_access();
  reach(std::max(cpu().complete, cpu().committed), spending::instructions);
  empty_buffer();
  reach(now_ + on_.fence, spending::instructions);
  pass(0);
  if (is_arm()) cpu().early.order(now_);
}

// DMB ISHLD: later accesses wait for the loads before.
void machine::acquire_fence() {
  if (!is_arm()) return;
  begin_access();
  reach(cpu().complete, spending::instructions);
  cpu().early.order(now_);
}

// DMB ISH, as compilers make it.
void machine::release_fence() {
  if (is_arm()) fence();
}

void machine::empty_buffer() {
  processor& on = cpu();
  if (on.buffer.empty() && !on.drains) return;
  on.awaits_drain = running_;
  on.awaits_all = true;
  ++running_->waits;
  wait(spending::buffer);
}

void machine::make_room() {
  processor& on = cpu();
  if (on.buffer.size() < on_.buffer_entries) return;
  on.awaits_drain = running_;
  on.awaits_all = false;
  ++running_->waits;
  wait(spending::buffer);
}

// The oldest entry asks for its line; when the line is there, it is written.
void machine::drain(processor& of) {
  if (is_arm()) {
    drain_in_any_order(of);
    return;
  }
  const buffered_store& oldest = of.buffer.oldest();
  if (!of.granted) {
    const served when = lines_.write(of.number, oldest.address, now_, on_.drain, oldest.at);
    of.drain_ends = when.end;
    if (when.effect > now_) {
      of.granted = true;
      events_.add(when.effect, event::kind::drain, of.number);
      return;
    }
  }
  of.granted = false;
  if (!oldest.plain) change_memory(of, oldest.address, oldest.size, oldest.value);
  of.buffer.take_oldest();
  events_.add(of.drain_ends, event::kind::drained, of.number);
}

// Each entry that may asks for its line; those whose lines are there are written, one after
// another.
void machine::drain_in_any_order(processor& of) {
  for (std::size_t i = 0; i < of.buffer.size(); ++i) {
    buffered_store& each = of.buffer[i];
    if (each.asked || !of.buffer.may_pass(i)) continue;
    const served when = lines_.write(of.number, each.address, now_, on_.drain, each.at);
    each.asked = true;
    each.comes = when.effect;
    if (when.effect > now_) events_.add(when.effect, event::kind::drain, of.number);
  }
  if (of.drain_ends > now_) {
    events_.add(of.drain_ends, event::kind::drain, of.number);
    return;
  }
  for (std::size_t i = 0; i < of.buffer.size(); ++i) {
    const buffered_store& each = of.buffer[i];
    if (!each.asked || each.comes > now_) continue;
    of.drain_ends = now_ + on_.drain + (each.release ? on_.release : 0);
    if (!each.plain) change_memory(of, each.address, each.size, each.value);
    of.buffer.take(i);
    events_.add(of.drain_ends, event::kind::drain, of.number);
    break;
  }
  if (!of.buffer.empty() || of.drain_ends > now_) {
    if (!of.awaits_all) wake_who_awaits_drain(of);
  } else if (of.drains) {
    buffer_is_empty(of);
  }
}

void machine::drained(processor& of) {
  if (!of.buffer.empty()) {
    drain(of);
    if (!of.awaits_all) wake_who_awaits_drain(of);
  } else {
    buffer_is_empty(of);
  }
}

void machine::buffer_is_empty(processor& of) {
  of.drains = false;
  for (const std::uint64_t each : of.fences_pending) acknowledge(each, now_ + on_.interrupt_handle);
  of.fences_pending.clear();
  wake_who_awaits_drain(of);
}

void machine::wake_who_awaits_drain(processor& of) {
  if (of.awaits_drain == nullptr) return;
  simulated_thread& waiter = *of.awaits_drain;
  of.awaits_drain = nullptr;
  go_on(waiter, now_);
}

}  // namespace readmost::simulation
