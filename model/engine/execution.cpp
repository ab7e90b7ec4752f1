#include "engine/execution.hpp"

#include <cstring>
#include <stdexcept>

#include "engine/report.hpp"
#include "engine/scenario.hpp"
#include "engine/search.hpp"
#include "engine/synchronization.hpp"

// The library's thread-local variables lie in a section of their own and are exchanged whenever
// another thread runs. Weak: a program without the library has none.
extern "C" {
[[gnu::weak]] extern char __start_readmost_own[];
[[gnu::weak]] extern char __stop_readmost_own[];
}

namespace readmost::model {

namespace {

constexpr std::uintptr_t objects_at = 0x5100'0000'0000;
constexpr std::uintptr_t views_at = 0x5200'0000'0000;
constexpr std::size_t objects_size = std::size_t{16} << 20;
constexpr std::size_t views_size = std::size_t{64} << 20;
constexpr std::size_t table_size = 1U << 14;

std::size_t own_size() noexcept {
  return static_cast<std::size_t>(__stop_readmost_own - __start_readmost_own);
}

const std::vector<char>& own_at_first() {
  static const std::vector<char> image(__start_readmost_own, __stop_readmost_own);
  return image;
}

std::size_t place_of(std::uintptr_t address) noexcept {
  return static_cast<std::size_t>((address * 0x9E37'79B9'7F4A'7C15U) >> 50);
}
static_assert(table_size == 1U << (64 - 50));

template <class T>
T& look_up(std::vector<T*>& table, std::deque<T>& all, std::uintptr_t address) {
  for (std::size_t place = place_of(address);; place = (place + 1) % table_size) {
    T*& entry = table[place];
    if (entry != nullptr && entry->address == address) return *entry;
    if (entry == nullptr) {
      if (all.size() > table_size / 2) throw std::length_error("too many variables");
      entry = &all.emplace_back();
      entry->address = address;
      return *entry;
    }
  }
}

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
  own_at_first();
  for (unsigned i = 0; i < max_threads; ++i) {
    threads_[i].number = i;
    threads_[i].own_data = own_at_first();
  }
}

execution::~execution() = default;

// --- One run -----------------------------------------------------------------------------------

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
  if (own_size() != 0) std::memcpy(__start_readmost_own, own_at_first().data(), own_size());
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
  operation start;
  start.what = kind::start;
  start.at = std::source_location::current();
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
  if (own_size() != 0) std::memcpy(t.own_data.data(), own_at_first().data(), own_size());
  fibers_[thread_count_].start(enter_thread, &t);
  ++thread_count_;
  return t;
}

void execution::switch_to(unsigned number) {
  simulated_thread& next = threads_[number];
  simulated_thread& self = *running_;
  if (&next == &self) return;
  if (const std::size_t size = own_size()) {
    std::memcpy(self.own_data.data(), __start_readmost_own, size);
    std::memcpy(__start_readmost_own, next.own_data.data(), size);
  }
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

// --- Deciding ----------------------------------------------------------------------------------

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

// How far the running thread has come since its last step, by accesses that need no step.
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
        fail(violation_kind::livelock, "threads look again and again for what nobody will do",
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
       "nobody is left to go on: " + text, std::source_location::current());
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
}

// --- Steps -------------------------------------------------------------------------------------

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
  // It waited for the other's buffer; but it could as well have come before the stores in there.
  if (what.what == kind::interrupt) knows_of(last_step_[buffer_of(what.target)]);
  finish_event(made);
  if (what.what == kind::yield) who.looks.clear();
  if (recorded_) record_step(who.number, what);
}

// Who waits waits for the others.
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
  operation what;
  what.what = kind::drain;
  what.where = touched.where;
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

// --- Variables ---------------------------------------------------------------------------------

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
  // A loop that waits for a store nobody has made yet would keep that thread from ever running.
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
  operation what;
  what.what = kind::load;
  what.order = order;
  what.where = &where;
  what.at = at;
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
  operation what;
  what.what = kind::store;
  what.order = order;
  what.where = &where;
  what.operand = value;
  what.at = at;
  act(what);
}

std::uint64_t execution::update(void* address, std::uint32_t size, arithmetic how,
                                std::uint64_t operand, std::memory_order order,
                                std::source_location at) {
  location& where = find(address, size);
  operation what;
  what.what = kind::update;
  what.how = how;
  what.order = order;
  what.where = &where;
  what.operand = operand;
  what.at = at;
  if (!is_scheduled(where, true, at)) {
    drain_before_update(at);
    const std::uint64_t old = where.value;
    where.value = combine(what, old, size);
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
  operation what;
  what.what = kind::compare;
  what.order = success;
  what.failure = failure;
  what.where = &where;
  what.operand = desired;
  what.expected = expected;
  what.at = at;
  act(what);
  if (!what.success) expected = what.result;
  return what.success;
}

void execution::begin_life(void* address, std::uint32_t size, std::uint64_t value) {
  location& where = find(address, size);
  if (is_scheduled(where, true, std::source_location::current())) {
    where.retired = false;
    operation what;
    what.what = kind::store;
    what.order = std::memory_order_relaxed;
    what.where = &where;
    what.operand = value;
    what.at = std::source_location::current();
    act(what);
    return;
  }
  where.retired = false;
  where.value = value;
}

void execution::end_life(void* address, std::uint32_t size, std::source_location at) {
  location& where = find(address, size);
  if (!is_scheduled(where, true, at)) {
    where.retired = true;
    return;
  }
  operation what;
  what.what = kind::retire;
  what.where = &where;
  what.at = at;
  act(what);
}

void execution::fence(std::memory_order order, std::source_location at) {
  if (!concurrent_) return;
  operation what;
  what.what = kind::fence;
  what.order = order;
  what.at = at;
  act(what);
}

// As membarrier(2) says: a full fence at the call, one at the return, and in between one on each
// other thread, at any time; in the order of their numbers, which the kernel does not promise.
bool execution::membarrier(std::source_location at) {
  if (!machine_.membarrier) return false;
  if (!concurrent_) return true;
  fence(std::memory_order_seq_cst, at);
  for (unsigned i = 1; i < thread_count_; ++i) {
    if (i == running_->number) continue;
    operation what;
    what.what = kind::interrupt;
    what.target = i;
    what.at = at;
    act(what);
  }
  fence(std::memory_order_seq_cst, at);
  return true;
}

void execution::pass_time(std::uint64_t nanoseconds, std::source_location at) {
  running_->clock += nanoseconds;
  if (!concurrent_) return;
  fence(std::memory_order_seq_cst, at);
  for (unsigned i = 1; i < thread_count_; ++i) {
    if (i == running_->number) continue;
    operation what;
    what.what = kind::interrupt;
    what.target = i;
    what.at = at;
    act(what);
  }
  fence(std::memory_order_seq_cst, at);
}

void execution::sink_last_store() {
  if (concurrent_) memory_->sink_last_store(running_->number);
}

void execution::yield(std::source_location at) {
  if (!concurrent_) return;
  operation what;
  what.what = kind::yield;
  what.at = at;
  act(what);
}

std::uint64_t execution::now() {
  return running_->clock += machine_.clock_step;
}

// --- Futexes -----------------------------------------------------------------------------------

bool execution::futex_wait(const void* address, std::uint32_t expected, std::uint32_t mask,
                           bool timed, std::source_location at) {
  location& where = find(address, sizeof(std::uint32_t));
  if (!is_scheduled(where, true, at)) {
    if (static_cast<std::uint32_t>(where.value) != expected) return true;
    if (!concurrent_) {
      fail(violation_kind::deadlock, std::string(running_->name) + " would sleep for ever", at);
    }
    // Nobody else knows the word as yet: it is shared from now on.
    where.threads = 0xFF;
    is_scheduled(where, true, at);
  }
  operation what;
  what.what = kind::futex_wait;
  what.order = std::memory_order_relaxed;
  what.where = &where;
  what.expected = expected;
  what.mask = mask;
  what.at = at;
  running_->asleep_timed = timed;
  act(what);
  if (!what.success) return true;
  operation awake;
  awake.what = kind::awake;
  awake.where = &where;
  awake.at = at;
  act(awake);
  return awake.success;
}

void execution::fall_asleep(simulated_thread& who, const operation& what) {
  who.asleep_on = what.where;
  who.asleep_mask = what.mask;
  who.woken = false;
  sleepers_.push_back(who.number);
}

int execution::futex_wake(const void* address, int count, std::uint32_t mask,
                          std::source_location at) {
  if (!concurrent_) return 0;
  location& where = find(address, sizeof(std::uint32_t));
  operation what;
  what.what = kind::futex_wake;
  what.where = &where;
  what.operand = static_cast<std::uint64_t>(count);
  what.mask = mask;
  what.at = at;
  act(what);
  return static_cast<int>(what.result);
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

// --- Plain data --------------------------------------------------------------------------------

execution::plain& execution::find_plain(const void* address) {
  plain& found = look_up(plain_table_, plains_, reinterpret_cast<std::uintptr_t>(address));
  if (found.run != run_) [[unlikely]] {
    const std::uintptr_t kept = found.address;
    found = {};
    found.address = kept;
    found.run = run_;
    found.fresh = true;
  }
  return found;
}

std::uint64_t& execution::plain_value(const void* address, std::uint32_t size) {
  plain& data = find_plain(address);
  if (data.fresh) {
    data.fresh = false;
    std::memcpy(&data.value, address, size);
  }
  return data.value;
}

void execution::read_plain(const void* address, std::source_location at) {
  if (!concurrent_) return;
  plain& data = find_plain(address);
  const unsigned me = running_->number;
  if (data.written > running_->now->clock[data.writer]) {
    fail(violation_kind::data_race,
         describe(address) + " is read by " + running_->name + " while " +
             threads_[data.writer].name + " writes it",
         at);
  }
  data.read[me] = running_->now->clock[me];
}

void execution::write_plain(const void* address, std::source_location at) {
  if (!concurrent_) return;
  plain& data = find_plain(address);
  const unsigned me = running_->number;
  const view& now = *running_->now;
  if (data.written > now.clock[data.writer]) {
    fail(violation_kind::data_race,
         describe(address) + " is written by " + running_->name + " while " +
             threads_[data.writer].name + " writes it",
         at);
  }
  for (unsigned i = 1; i < thread_count_; ++i) {
    if (data.read[i] > now.clock[i]) {
      fail(violation_kind::data_race,
           describe(address) + " is written by " + running_->name + " while " + threads_[i].name +
               " reads it",
           at);
    }
  }
  data.writer = static_cast<std::uint8_t>(me);
  data.written = now.clock[me];
}

// --- Reports -----------------------------------------------------------------------------------

void execution::name(const void* begin, std::size_t bytes, std::string text) {
  if (!recorded_) return;
  names_.push_back({reinterpret_cast<std::uintptr_t>(begin), bytes, std::move(text)});
}

std::string execution::describe(const void* address) const {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (const auto& each : names_) {
    if (wanted < each.begin || wanted >= each.begin + each.bytes) continue;
    const std::uintptr_t offset = wanted - each.begin;
    return offset == 0 ? each.text : each.text + "+" + std::to_string(offset);
  }
  return describe_unnamed(*this, wanted);
}

std::string execution::describe_value(const std::string& name, std::uint64_t value) const {
  return describe_value_of(name, value);
}

void execution::record_step(actor who, const operation& what) {
  recorded_step made;
  made.who = is_buffer(who) ? std::string(threads_[thread_of(who)].name) + "'s buffer"
                            : threads_[who].name;
  made.what = describe_operation(*this, what);
  made.where = is_buffer(who) ? "" : place_in_source(what.at);
  for (unsigned i = 1; i < thread_count_; ++i) {
    const std::string buffered = memory_->buffered(*this, i);
    if (buffered.empty()) continue;
    if (!made.buffers.empty()) made.buffers += "  ";
    made.buffers += std::string(threads_[i].name) + ": " + buffered;
  }
  record_.push_back(std::move(made));
}

}  // namespace readmost::model
