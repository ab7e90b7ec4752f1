#include "simulation/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace readmost::simulation {

namespace {

// Fixed, because the library hashes addresses: so results do not change from run to run.
constexpr std::uintptr_t memory_at = 0x5300'0000'0000;
constexpr std::size_t memory_size = std::size_t{1} << 30;

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
      lines_(on_),
      cpus_(on_.cpus()),
      random_(seed * 0x9E37'79B9'7F4A'7C15U + 1) {
  for (unsigned i = 0; i < cpus_.size(); ++i) cpus_[i].number = i;
}

machine::~machine() = default;

std::uint64_t machine::random() noexcept {
  // xorshift64* (Vigna 2016).
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return random_ * 0x2545'F491'4F6C'DD1DU;
}

// --- Threads -----------------------------------------------------------------------------------

simulated_thread& machine::add_thread(std::string name, std::function<void()> body) {
  simulated_thread& made = threads_.emplace_back();
  made.number = static_cast<std::uint32_t>(threads_.size() - 1);
  made.name = std::move(name);
  made.body = std::move(body);
  made.cpu = next_cpu_;
  next_cpu_ = (next_cpu_ + 1) % on_.cpus();
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
  on.empty_buffer();
  me.finished = true;
  if (!me.is_daemon) --on.unfinished_;
  on.leave_cpu(spending::asleep);
  __builtin_unreachable();
}

void machine::run() {
  current_machine = this;
  while (unfinished_ != 0) {
    if (events_.empty()) nothing_happens();
    handle(events_.take());
    if (thrown_) break;
  }
  current_machine = nullptr;
  if (thrown_) std::rethrow_exception(thrown_);
}

void machine::nothing_happens() const {
  std::string who;
  for (const simulated_thread& each : threads_) {
    if (!each.finished) who += (who.empty() ? "" : ", ") + each.name;
  }
  throw std::runtime_error(fmt::format("no thread can go on: {} sleep", who));
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
  if (on.stolen != 0) {
    const duration time = on.stolen;
    on.stolen = 0;
    reach(now_ + time, spending::interrupts);
  }
  if (!on.ready.empty() && now_ >= on.slice_ends) give_way();
}

void machine::work(duration time) {
  while (time != 0) {
    begin_action();
    const duration part = std::min(time, on_.time_slice);
    reach(now_ + part, spending::instructions);
    time -= part;
  }
  // Interrupts during the work made it longer.
  if (cpu().stolen != 0) begin_action();
}

void machine::relax() {
  work(on_.relax);
}

std::uint64_t machine::read_clock() {
  work(on_.clock);
  return now_ / 1000;
}

// --- Memory ------------------------------------------------------------------------------------

std::uint64_t machine::load(const void* address, std::uint32_t size, std::source_location at) {
  begin_action();
  processor& on = cpu();
  if (on.buffer.overlaps(address, size)) {
    const std::uint64_t seen = on.buffer.value_seen(address, size);
    reach(now_ + on_.hit, spending::instructions);
    return seen;
  }
  const served when = lines_.read(on.number, address, now_, at);
  reach(when.effect, spending::transfers);
  const std::uint64_t seen = value_at(address, size);
  reach_end(when);
  return seen;
}

void machine::store(void* address, std::uint32_t size, std::uint64_t value,
                    std::source_location at) {
  begin_action();
  make_room();
  processor& on = cpu();
  on.buffer.add({address, size, value, at});
  if (!on.drains) {
    on.drains = true;
    events_.add(now_, event::kind::drain, on.number);
  }
  reach(now_ + on_.store, spending::instructions);
}

void machine::prefetch(const void* address, std::source_location at) {
  begin_action();
  processor& on = cpu();
  const auto is_over = [this](instant end) { return end <= now_; };
  std::erase_if(on.fetches, is_over);
  if (on.fetches.size() == on_.fill_buffers) {
    reach(std::ranges::min(on.fetches), spending::transfers);
    std::erase_if(on.fetches, is_over);
  }
  on.fetches.push_back(lines_.read(on.number, address, now_, at).end);
  reach(now_ + on_.hit, spending::instructions);
}

void machine::prefetch_for_write(const void* address, std::source_location at) {
  begin_action();
  lines_.write(cpu().number, address, now_, on_.hit, at);
  reach(now_ + on_.hit, spending::instructions);
}

void machine::fence() {
  begin_action();
  empty_buffer();
  reach(now_ + on_.fence, spending::instructions);
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
  of.buffer.write_oldest();
  events_.add(of.drain_ends, event::kind::drained, of.number);
}

void machine::drained(processor& of) {
  if (!of.buffer.empty()) {
    drain(of);
  } else {
    of.drains = false;
    for (const std::uint64_t each : of.fences_pending)
      acknowledge(each, now_ + on_.interrupt_handle);
    of.fences_pending.clear();
  }
  if (of.awaits_drain != nullptr && (!of.awaits_all || !of.drains)) {
    simulated_thread& waiter = *of.awaits_drain;
    of.awaits_drain = nullptr;
    go_on(waiter, now_);
  }
}

}  // namespace readmost::simulation
