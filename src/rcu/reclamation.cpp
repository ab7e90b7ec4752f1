// What happens to what has been retired: callbacks, batches, barriers (RCU 3.1).
//
// Each thread queues what it retires in its own record, without disturbing the others. The executor
// of the domain, one at a time, moves all queues through three lists:
//   next     the queues themselves: their grace period has not been chosen yet
//   current  collected; waits for the grace period that began after that
//   done     its grace period is over; being reclaimed, oldest first
// The executor is a thread of the library's own (`reclaimer`), asleep while nothing is queued;
// where there is none, whoever retires or waits in barrier() becomes the executor for a while.
//
// A deleter may do what anybody may: retire, wait for grace periods, lock, call barrier(). It runs
// with no lock held but the right to be the executor, which it inherits: barrier() in a deleter
// goes on with the lists from there.
#include "rcu/reclamation.hpp"

#include <algorithm>
#include <bit>

#include "rcu/misuse.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

constinit reclamation all_reclamation[max_domains];

namespace {

// Of the reclaimer.
enum : std::uint32_t {
  not_started,  // or could not be; as it is at first
  starting,
  awake,
  asleep,
  closing,  // is to end
  over,     // the process ends
};

enum : std::uint32_t { executor_free, executor_taken, executor_awaited };

reclamation& reclamation_of(const domain& d) noexcept {
  return all_reclamation[number_of(d)];
}

// The domains whose executor the calling thread is, and the one whose reclaimer it is.
READMOST_THREAD_LOCAL std::uint32_t executes;
READMOST_THREAD_LOCAL const domain* reclaims;

bool is_executor(const domain& d) noexcept {
  return (executes >> number_of(d) & 1) != 0;
}

bool is_reclaimer(const domain& d) noexcept {
  return reclaims == &d;
}

// --- Kinds ---------------------------------------------------------------------------------------

// A function in place of a kind is marked by the highest bit, which no address has; beneath it
// follow 6 bits for the size: 0, or the power of two and 1.
constexpr unsigned call_size_shift = 57;
constexpr std::uintptr_t call_mark = std::uintptr_t{1} << 63;
constexpr std::uintptr_t call_address = (std::uintptr_t{1} << call_size_shift) - 1;
constexpr unsigned call_sizes = 64;

const retired_kind* kind_of_call(retired_call function, std::size_t bytes) noexcept {
  const auto size = bytes == 0 ? 0U : static_cast<unsigned>(std::bit_width(bytes - 1)) + 1;
  const std::uintptr_t bits = std::min(size, call_sizes - 1);
  return reinterpret_cast<const retired_kind*>(reinterpret_cast<std::uintptr_t>(function) |
                                               bits << call_size_shift | call_mark);
}

std::size_t bytes_of(const retired_kind* kind) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(kind);
  if ((word & call_mark) == 0) return kind->bytes;
  const std::uintptr_t size = word >> call_size_shift & (call_sizes - 1);
  return size == 0 ? 0 : std::size_t{1} << (size - 1);
}

#if defined(__clang__)
[[clang::no_sanitize("function")]]  // C calls what it retires by other names than `retired`
#endif
void reclaim(retired& object, const retired_kind* kind) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(kind);
  if ((word & call_mark) == 0) {
    kind->reclaim(&object);
  } else {
    reinterpret_cast<retired_call>(word & call_address)(&object);
  }
}

// --- Queues ------------------------------------------------------------------------------------

// Whether the queue was empty.
bool push(platform::atomic<retired*>& latest, retired& object) noexcept {
  retired* before = latest.load(platform::relaxed);
  do {
    object.next = before;
    // (Y1) Pairs with (Y2): who collects the object finds it filled in.
  } while (!latest.compare_exchange_weak(before, &object, at(letter::Y1, platform::release),
                                         platform::relaxed));
  return before == nullptr;
}

// Puts a queue, latest first, behind the list that ends in `tail`, oldest first; the new end.
platform::variable<retired*>* append_oldest_first(platform::atomic<retired*>& latest,
                                                  platform::variable<retired*>* tail) noexcept {
  if (latest.load(platform::relaxed) == nullptr) return tail;
  // (Y2) Pairs with (Y1).
  retired* object = latest.exchange(nullptr, at(letter::Y2, platform::acquire));
  retired* const last = object;
  retired* first = nullptr;
  while (object != nullptr) {
    retired* const older = object->next;
    object->next = first;
    first = object;
    object = older;
  }
  if (first == nullptr) return tail;
  *tail = first;
  return &last->next;
}

bool is_anything_queued(const domain& d, const reclamation& r) noexcept {
  if (r.unrecorded_latest.load(platform::relaxed) != nullptr) return true;
  if (platform::forks && r.has_early.load(platform::relaxed)) return true;
  return !for_each_chunk(d, [](const chunk& c) { return c.retiring.load(platform::relaxed) == 0; });
}

// --- The account of what waits -----------------------------------------------------------------

// So much a thread retires before it tells the others.
constexpr std::uint32_t objects_at_once = 64;
constexpr std::uint64_t bytes_at_once = 64 * 1024;

void count_now(reclamation& r, thread_record& me) noexcept {
  r.objects.fetch_add(me.uncounted_objects.load(platform::relaxed), platform::relaxed);
  r.bytes.fetch_add(static_cast<std::int64_t>(me.uncounted_bytes.load(platform::relaxed)),
                    platform::relaxed);
  me.uncounted_objects.store(0, platform::relaxed);
  me.uncounted_bytes.store(0, platform::relaxed);
}

// Whether it was time to tell the others.
bool count(reclamation& r, thread_record* me, std::uint64_t bytes) noexcept {
  if (me == nullptr) {
    r.objects.fetch_add(1, platform::relaxed);
    r.bytes.fetch_add(static_cast<std::int64_t>(bytes), platform::relaxed);
    return true;
  }
  const std::uint32_t objects = me->uncounted_objects.load(platform::relaxed) + 1;
  const std::uint64_t all_bytes = me->uncounted_bytes.load(platform::relaxed) + bytes;
  me->uncounted_objects.store(objects, platform::relaxed);
  me->uncounted_bytes.store(all_bytes, platform::relaxed);
  if (objects < objects_at_once && all_bytes < bytes_at_once) return false;
  count_now(r, *me);
  return true;
}

bool is_above(const reclamation& r, std::uint64_t quarters) noexcept {
  const auto above = [&](std::int64_t value, std::uint64_t most) {
    return value > 0 && static_cast<std::uint64_t>(value) > most / 4 * quarters;
  };
  return above(r.objects.load(platform::relaxed), r.most_objects.load(platform::relaxed)) ||
         above(r.bytes.load(platform::relaxed), r.most_bytes.load(platform::relaxed));
}
bool is_above_limit(const reclamation& r) noexcept {
  return is_above(r, 4);
}
// Those who wait go on when a quarter of the limit is free again.
bool is_well_below_limit(const reclamation& r) noexcept {
  return !is_above(r, 3);
}

// --- The executor --------------------------------------------------------------------------------

bool try_execute(domain& d, reclamation& r) noexcept {
  std::uint32_t free = executor_free;
  // (Y3) Pairs with (Y4): the lists are as the last executor left them.
  if (!r.executor.compare_exchange_strong(free, executor_taken, at(letter::Y3, platform::acquire),
                                          platform::relaxed)) {
    return false;
  }
  executes |= 1U << number_of(d);
  return true;
}

void execute(domain& d, reclamation& r) noexcept {
  while (!try_execute(d, r)) {
    std::uint32_t taken = executor_taken;
    if (!r.executor.compare_exchange_strong(taken, executor_awaited, platform::relaxed,
                                            platform::relaxed) &&
        taken == executor_free) {
      continue;
    }
    go_offline();
    platform::futex_wait(platform::futex_of(r.executor), executor_awaited, ~0U, nullptr);
  }
}

void stop_executing(domain& d, reclamation& r) noexcept {
  executes &= ~(1U << number_of(d));
  // (Y4) Pairs with (Y3).
  if (r.executor.exchange(executor_free, at(letter::Y4, platform::release)) == executor_awaited &&
      !is_mutant(mutant::silent_executor)) {
    platform::futex_wake(platform::futex_of(r.executor), INT32_MAX, ~0U);
  }
}

void tell_reclaimed(reclamation& r, std::int64_t objects, std::uint64_t bytes) noexcept {
  r.objects.fetch_sub(objects, platform::relaxed);
  r.bytes.fetch_sub(static_cast<std::int64_t>(bytes), platform::relaxed);
  r.reclaimed.fetch_add(static_cast<std::uint64_t>(objects), platform::relaxed);
  // (Y15) Pairs with (Y16): who sleeps on the new number has seen the account.
  r.reclaimed_some.fetch_add(1, at(letter::Y15, platform::release));
  // (Y7) The number before the look for sleepers: either this thread sees that one is announced, or
  // its futex call sees the new number.
  platform::full_fence_after_rmw(letter::Y7);
  if (r.throttled.load(platform::relaxed) != 0 && is_well_below_limit(r)) {
    platform::futex_wake(platform::futex_of(r.reclaimed_some), INT32_MAX, ~0U);
  }
}

platform::variable<retired*>* end_of(platform::variable<retired*>& list) noexcept {
  auto* tail = &list;
  while (retired* const object = *tail) tail = &object->next;
  return tail;
}

// The oldest of those that are done; null when there is none. A child must not find in the list
// what has been reclaimed while its memory was being copied.
retired* take_done(reclamation& r) noexcept {
  if (r.done == nullptr) return nullptr;
  const auto take = [&] {
    retired* const object = r.done;
    r.done = object->next;
    return object;
  };
  if constexpr (!platform::forks) return take();
  const closed_gate moving(r.moving);
  return take();
}

// Appends the queues of the threads of `c` to the list that ends in `tail`; the new end.
platform::variable<retired*>* append_queues(chunk& c, platform::variable<retired*>* tail) noexcept {
  // (Y5) Pairs with (Y6): the queues of those that are marked are not empty.
  for (std::uint64_t left = c.retiring.exchange(0, at(letter::Y5, platform::acquire)); left != 0;
       left &= left - 1) {
    tail = append_oldest_first(c.records[__builtin_ctzll(left)].retired_latest, tail);
  }
  return tail;
}

#if defined(READMOST_FAULTS)
#include <mutants/reclamation.hpp>
#endif

// next to current.
void collect(domain& d, reclamation& r) noexcept {
  const closed_gate moving(r.moving);
  platform::variable<retired*> first{};
  auto* tail = &first;
  if constexpr (platform::forks) {
    first = r.early;
    r.early = nullptr;
    r.has_early.store(false, platform::relaxed);
    tail = end_of(first);
  }
  tail = append_oldest_first(r.unrecorded_latest, tail);
  for_each_chunk(d, [&](chunk& c) {
    if (c.retiring.load(platform::relaxed) == 0) return true;
    tail = READMOST_VARIANT(forgets_a_queue, append_queues(c, tail),
                            append_all_queues_but_the_last(c, tail, &first));
    return true;
  });
  r.current = first;
  if (r.current != nullptr) r.current_grace_period = grace_period_from_now(d);
}

// Reclaims what is done. A deleter may get here again, and then goes on with the rest.
// False when the process ends and the thread has to stop.
bool reclaim_done(reclamation& r) noexcept {
  constexpr std::int64_t objects_until_told = 64;
  const bool checks = checks_misuse();
  std::int64_t objects = 0;
  std::uint64_t bytes = 0;
  while (true) {
    if (reclaims != nullptr && r.reclaimer.load(platform::relaxed) == over)
      return r.done == nullptr;
    retired* const object = take_done(r);
    if (object == nullptr) break;
    const retired_kind* const kind = object->kind;
    if (checks) object->kind = nullptr;  // not queued any more: a deleter may keep it for later
    bytes += bytes_of(kind);
    reclaim(*object, kind);
    if (++objects == objects_until_told) {
      tell_reclaimed(r, objects, bytes);
      objects = 0;
      bytes = 0;
    }
  }
  if (objects != 0) tell_reclaimed(r, objects, bytes);
  return true;
}

// current to done, and on. False when its grace period is not over and it is not to wait.
bool finish_current(domain& d, reclamation& r, bool wait) noexcept {
  if (r.current != nullptr) {
    if (wait) {
      const bool hurried = r.hurried.exchange(false, platform::relaxed);
      await_grace_period(d, r.current_grace_period, hurried ? urgency::hurry : urgency::normal);
    } else if (!try_advance(d, r.current_grace_period)) {
      return false;
    }
    const closed_gate moving(r.moving);
    retired* const done = r.current;
    r.current = nullptr;
    r.done = done;
  }
  return reclaim_done(r);
}

class nested_call {
 public:
  explicit nested_call(reclamation& r) noexcept : r_(r) { ++r_.depth; }
  ~nested_call() { --r_.depth; }
  nested_call(const nested_call&) = delete;
  nested_call& operator=(const nested_call&) = delete;
  bool is_outermost() const noexcept { return r_.depth == 1; }

 private:
  reclamation& r_;
};

// Everything that is queued by now; `wait`: for its grace period. Whether there was anything.
bool reclaim_all(domain& d, reclamation& r, bool wait) noexcept {
  const nested_call nested(r);
  if (!finish_current(d, r, wait)) return true;
  // (Y8) Pairs with (Y9): what was retired before the barrier is in the queues.
  const std::uint32_t barriers = r.barriers_wanted.load(at(letter::Y8, platform::acquire));
  collect(d, r);
  const bool any = r.current != nullptr;
  if (!finish_current(d, r, wait)) return true;
  // Who is in a deleter here has one more to go, for whoever else waits.
  if ((nested.is_outermost() || is_mutant(mutant::nested_barrier_publishes)) &&
      barriers != r.barriers_done.load(platform::relaxed)) {
    // (Y10) Pairs with (Y11): the deleters before the return of the barrier.
    r.barriers_done.store(barriers, at(letter::Y10, platform::release));
    platform::futex_wake(platform::futex_of(r.barriers_done), INT32_MAX, ~0U);
  }
  return any;
}

// --- The reclaimer -------------------------------------------------------------------------------

bool is_barrier_wanted(const reclamation& r) noexcept {
  return r.barriers_wanted.load(platform::relaxed) != r.barriers_done.load(platform::relaxed);
}

bool change(platform::atomic<std::uint32_t>& state, std::uint32_t from, std::uint32_t to) noexcept {
  return state.compare_exchange_strong(from, to, platform::relaxed, platform::relaxed);
}

void sleep_unless_needed(domain& d, reclamation& r) noexcept {
  if (!change(r.reclaimer, awake, asleep)) return;
  // (Y12) Asleep before the look at the queues. Pairs with (Y13), (Y14): either this thread sees
  // what was queued or wanted, or who did that sees that it has to be woken.
  platform::full_fence_after_rmw(letter::Y12);
  if (is_anything_queued(d, r) || is_barrier_wanted(r)) {
    change(r.reclaimer, asleep, awake);
    return;
  }
  go_offline();
  // Again when what woke it was meant for an earlier sleep.
  do {
    platform::futex_wait(platform::futex_of(r.reclaimer), asleep, ~0U, nullptr);
  } while (r.reclaimer.load(platform::relaxed) == asleep && !is_mutant(mutant::woken_is_awake));
}

void run_reclaimer(void* of_domain) noexcept {
  auto& d = *static_cast<domain*>(of_domain);
  reclamation& r = reclamation_of(d);
  reclaims = &d;
  change(r.reclaimer, starting, awake);
  for (;;) {
    const std::uint32_t state = r.reclaimer.load(platform::relaxed);
    if (state == over) return;
    if (state == closing) {
      r.reclaimer.store(not_started, platform::relaxed);
      platform::futex_wake(platform::futex_of(r.reclaimer), INT32_MAX, ~0U);
      return;
    }
    execute(d, r);
    const bool any = reclaim_all(d, r, true);
    stop_executing(d, r);
    if (!any) sleep_unless_needed(d, r);
  }
}

void wake_reclaimer(reclamation& r) noexcept {
  if (r.reclaimer.load(platform::relaxed) == asleep && change(r.reclaimer, asleep, awake)) {
    platform::futex_wake(platform::futex_of(r.reclaimer), 1, ~0U);
  }
}

// --- First use, exits, forks ---------------------------------------------------------------------

bool is_thread_forbidden() noexcept {
  char value[4];
  return platform::environment("READMOST_RCU_THREAD", value, sizeof value) && value[0] == '0' &&
         value[1] == '\0';
}

bool runs(const reclamation& r) noexcept {
  const std::uint32_t state = r.reclaimer.load(platform::relaxed);
  return state == starting || state == awake || state == asleep;
}

void reclaim_in_place(domain& d, reclamation& r, bool wait) noexcept {
  // Not inside a section: a deleter may wait for a grace period.
  if (is_executor(d) || is_in_section(number_of(d)) || !try_execute(d, r)) return;
  reclaim_all(d, r, wait);
  stop_executing(d, r);
}

// Where nobody wakes who waits.
constexpr std::uint64_t between_looks = 50'000;

void reclaim_in_place_until(domain& d, reclamation& r, const platform::deadline& until) noexcept {
  while (!is_in_section(number_of(d))) {
    if (try_execute(d, r)) {
      const bool any = reclaim_all(d, r, false);
      stop_executing(d, r);
      if (!any) return;
    }
    if (platform::time_left(until) == 0) return;
    go_offline();
    platform::sleep_for(between_looks);
  }
}

void count_at_thread_exit(thread_record& me) noexcept {
  count_now(reclamation_of(domain_of(me)), me);
}

// So long the end of the process waits for readers and deleters.
constexpr std::uint64_t longest_exit = 1'000'000'000;

std::uint32_t take_barrier(reclamation& r) noexcept {
  // (Y9) Pairs with (Y8).
  const std::uint32_t barrier =
      r.barriers_wanted.fetch_add(1, at(letter::Y9, platform::release)) + 1;
  // (Y14) The number before the look at the reclaimer. Pairs with (Y12).
  platform::full_fence_after_rmw(letter::Y14);
  wake_reclaimer(r);
  return barrier;
}

// False when the time is up, or when there is nobody left to wait for.
bool await_barrier(reclamation& r, std::uint32_t barrier,
                   const platform::deadline* until) noexcept {
  for (;;) {
    // (Y11) Pairs with (Y10).
    const std::uint32_t done = r.barriers_done.load(at(letter::Y11, platform::acquire));
    if (static_cast<std::int32_t>(done - barrier) >= 0) return true;
    if (!runs(r)) return false;
    go_offline();
    if (platform::futex_wait(platform::futex_of(r.barriers_done), done, ~0U, until) ==
        platform::wake_reason::timed_out) {
      return false;
    }
  }
}

// Reclaims what there is, and then the thread must not disturb the destructors of static objects.
void finish_at_process_exit(domain& d, const platform::deadline& until) noexcept {
  reclamation& r = reclamation_of(d);
  if (is_executor(d)) return;
  if (!runs(r)) {
    reclaim_in_place_until(d, r, until);
    return;
  }
  if (!is_in_section(number_of(d))) await_barrier(r, take_barrier(r), &until);
  r.reclaimer.store(over, platform::relaxed);
}

void recount(reclamation& r, const retired* list) noexcept {
  for (; list != nullptr; list = list->next) {
    r.objects.fetch_add(1, platform::relaxed);
    r.bytes.fetch_add(static_cast<std::int64_t>(bytes_of(list->kind)), platform::relaxed);
  }
}

// The domains whose lists the calling thread keeps still while it forks. Those of others may be
// torn in the child.
READMOST_THREAD_LOCAL std::uint32_t stopped;

// The reclaimer is not in the child, unless it is who forks; what waits is, but for what it was
// just reclaiming.
void go_on_in_child(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  r.moving.open_in_child();
  if (r.reclaimer.load(platform::relaxed) != over) {
    r.reclaimer.store(is_reclaimer(d) ? awake : not_started, platform::relaxed);
  }
  r.executor.store(is_executor(d) ? executor_taken : executor_free, platform::relaxed);
  if (!is_executor(d)) r.depth = 0;
  r.throttled.store(0, platform::relaxed);
  r.barriers_done.store(r.barriers_wanted.load(platform::relaxed), platform::relaxed);
  r.objects.store(0, platform::relaxed);
  r.bytes.store(0, platform::relaxed);
  // What is in the queues of others came while the memory was being copied, and its copy may be
  // torn: the rest is in `early`.
  for_each_record(d, [&](thread_record& record, bool) {
    clear_where_set(record.uncounted_objects);
    clear_where_set(record.uncounted_bytes);
    const retired* const queue = record.retired_latest.load(platform::relaxed);
    if (queue == nullptr) return;
    if (&record != &my_record(number_of(d))) {
      record.retired_latest.store(nullptr, platform::relaxed);
      return;
    }
    recount(r, queue);
    // A collector may have been on its way.
    record.home->retiring.fetch_or(std::uint64_t{1} << record.number, platform::relaxed);
  });
  r.unrecorded_latest.store(nullptr, platform::relaxed);
  if ((stopped >> number_of(d) & 1) == 0) {
    r.early = nullptr;
    r.has_early.store(false, platform::relaxed);
    r.current = nullptr;
    r.done = nullptr;
  }
  recount(r, r.early);
  recount(r, r.current);
  recount(r, r.done);
}

void stop_moving() noexcept {
  for (unsigned number = 0; number < max_domains; ++number) {
    reclamation& r = all_reclamation[number];
    if (!r.moving.try_close()) continue;
    stopped |= 1U << number;
    // While the child's memory is being copied, threads may go on retiring, and the copy of a queue
    // and those of its objects would not be of the same moment.
    auto* tail = append_oldest_first(r.unrecorded_latest, end_of(r.early));
    for_each_record(domains[number], [&](thread_record& record, bool) {
      tail = append_oldest_first(record.retired_latest, tail);
    });
    r.has_early.store(r.early != nullptr, platform::relaxed);
  }
}

void go_on_moving() noexcept {
  while (stopped != 0) {
    reclamation& r = all_reclamation[__builtin_ctz(stopped)];
    stopped &= stopped - 1;
    r.moving.open();
    // It may have looked before `has_early` told of what was taken from the queues, and be asleep.
    // The fork was a fence.
    if (r.has_early.load(platform::relaxed)) wake_reclaimer(r);
  }
}

constinit part reclamation_part{.on_exit = count_at_thread_exit,
                                .before_fork = stop_moving,
                                .in_parent = go_on_moving,
                                .in_child = [] {
                                  for_each_domain(go_on_in_child);
                                  stopped = 0;
                                }};

READMOST_EARLY void add_reclamation_early() noexcept {
  if constexpr (platform::forks) add_part(reclamation_part);
}

void watch_lives() noexcept {
  add_part(reclamation_part);
  static platform::atomic<std::uint32_t> watching{0};
  if (watching.exchange(1, platform::relaxed) != 0) return;
  platform::at_process_exit([] {
    const platform::deadline until = platform::in(longest_exit);
    for (domain& d : domains) finish_at_process_exit(d, until);
  });
}

void start_reclaimer(domain& d, reclamation& r) noexcept {
  if (r.in_place.load(platform::relaxed) || !change(r.reclaimer, not_started, starting)) return;
  watch_lives();
  if (!is_thread_forbidden() && platform::start_thread(run_reclaimer, &d)) return;
  r.in_place.store(true, platform::relaxed);
  r.reclaimer.store(not_started, platform::relaxed);
}

// --- The backlog at its limit --------------------------------------------------------------------

constexpr std::uint64_t longest_throttle = 100'000'000;

void throttle(domain& d, reclamation& r) noexcept {
  if (is_executor(d) || is_in_section(number_of(d))) return;
  const platform::deadline until = platform::in(longest_throttle);
  if (!runs(r)) {
    // Without waiting for the grace period: its reader may never leave. Another thread may be the
    // executor.
    for (;;) {
      reclaim_in_place(d, r, false);
      if (is_well_below_limit(r) || platform::time_left(until) == 0) return;
      go_offline();
      platform::sleep_for(between_looks);
    }
  }
  r.throttled.fetch_add(1, platform::relaxed);
  // Announced before the futex call looks at the number, behind a full fence of its own: see (Y7).
  for (;;) {
    // (Y16) Before the look at the account. Pairs with (Y15).
    const std::uint32_t some = r.reclaimed_some.load(at(letter::Y16, platform::acquire));
    wake_reclaimer(r);
    if (is_well_below_limit(r)) break;
    go_offline();
    if (platform::futex_wait(platform::futex_of(r.reclaimed_some), some, ~0U, &until) ==
        platform::wake_reason::timed_out) {
      break;
    }
  }
  r.throttled.fetch_sub(1, platform::relaxed);
}

void schedule_as(domain& d, retired& object, const retired_kind* kind) noexcept {
  reclamation& r = reclamation_of(d);
  object.kind = kind;
  const std::size_t bytes = bytes_of(kind);
  thread_record* const me = enlist(number_of(d));
  if (me == nullptr) {
    push(r.unrecorded_latest, object);
  } else if (push(me->retired_latest, object)) {
    // (Y6) Pairs with (Y5).
    me->home->retiring.fetch_or(std::uint64_t{1} << me->number, at(letter::Y6, platform::release));
  }
  const bool due = count(r, me, bytes);
  // (Y13) Queued before the look at the reclaimer. Pairs with (Y12).
  platform::full_fence_after_rmw(letter::Y13);
  if (!runs(r)) [[unlikely]] {
    start_reclaimer(d, r);
    if (due && !runs(r)) reclaim_in_place(d, r, false);
  }
  wake_reclaimer(r);
  if (due && is_above_limit(r)) [[unlikely]] {
    throttle(d, r);
  }
}

}  // namespace

void start_reclaimer(domain& d) noexcept {
  start_reclaimer(d, reclamation_of(d));
}

void schedule(domain& d, retired& object, const retired_kind& kind) noexcept {
  if (checks_misuse() && object.kind != nullptr) {
    // Queued once more it would end the queue behind it, or be reclaimed twice.
    report_misuse(misuse::retired_twice, number_of(d), __builtin_return_address(0));
    return;
  }
  schedule_as(d, object, &kind);
}

// Nothing is known of the object's words before.
void schedule_call(domain& d, retired& object, retired_call function, std::size_t bytes) noexcept {
  schedule_as(d, object, kind_of_call(function, bytes));
}

void barrier(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  if (is_executor(d)) {
    report_misuse(misuse::barrier_inside_deleter, number_of(d), __builtin_return_address(0));
    reclaim_done(r);
    reclaim_all(d, r, true);
    return;
  }
  if (is_in_section(number_of(d))) {
    report_misuse(misuse::barrier_inside, number_of(d), __builtin_return_address(0));
  }
  const std::uint32_t barrier = take_barrier(r);
  while (!await_barrier(r, barrier, nullptr)) {
    execute(d, r);
    reclaim_all(d, r, true);
    stop_executing(d, r);
  }
}

void hurry(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  r.hurried.store(true, platform::relaxed);
  if (runs(r)) {
    wake_reclaimer(r);
  } else {
    reclaim_in_place(d, r, false);
  }
}

void limit_backlog(domain& d, backlog_limit limit) noexcept {
  reclamation& r = reclamation_of(d);
  r.most_objects.store(limit.objects, platform::relaxed);
  r.most_bytes.store(limit.bytes, platform::relaxed);
}

void reclaim_by(domain& d, reclaiming who) noexcept {
  reclamation_of(d).in_place.store(who == reclaiming::in_place, platform::relaxed);
  watch_lives();
}

void close_reclamation(domain& d) noexcept {
  reclamation& r = reclamation_of(d);
  barrier(d);
  for (;;) {
    const std::uint32_t state = r.reclaimer.load(platform::relaxed);
    if (state == not_started || state == over) break;
    if (state != closing && !change(r.reclaimer, state, closing)) continue;
    if (state == asleep) platform::futex_wake(platform::futex_of(r.reclaimer), 1, ~0U);
    go_offline();
    platform::futex_wait(platform::futex_of(r.reclaimer), closing, ~0U, nullptr);
  }
  limit_backlog(d, backlog_limit{});
  r.in_place.store(false, platform::relaxed);
  r.hurried.store(false, platform::relaxed);
}

rcu_statistics statistics_of(domain& d) noexcept {
  const reclamation& r = reclamation_of(d);
  std::int64_t objects = r.objects.load(platform::relaxed);
  std::int64_t bytes = r.bytes.load(platform::relaxed);
  for_each_record(d, [&](const thread_record& record, bool) {
    objects += record.uncounted_objects.load(platform::relaxed);
    bytes += static_cast<std::int64_t>(record.uncounted_bytes.load(platform::relaxed));
  });
  rcu_statistics figures{};
  figures.grace_periods = d.grace_periods.load(platform::relaxed) / one_grace_period;
  figures.by_membarrier = d.grace_periods_by_membarrier.load(platform::relaxed);
  figures.asleep = d.grace_periods_asleep.load(platform::relaxed);
  figures.reclaimed = r.reclaimed.load(platform::relaxed);
  figures.waiting = objects > 0 ? static_cast<std::uint64_t>(objects) : 0;
  figures.waiting_bytes = bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
  figures.retired = figures.reclaimed + figures.waiting;
  figures.waits_for = d.waits_for.load(platform::relaxed);
  figures.waits_since = figures.waits_for != 0 ? d.waits_since.load(platform::relaxed) : 0;
  return figures;
}

}  // namespace readmost::detail
