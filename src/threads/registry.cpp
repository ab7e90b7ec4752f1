// SPDX-License-Identifier: Apache-2.0
// Membership in domains: registration at the first lock, thread exit, fork, online and offline.
#include "threads/registry.hpp"

#include <readmost/detail/platform/bits.hpp>
#include <readmost/detail/platform/mutant.hpp>

#include "platform/known_cpus.hpp"
#include "threads/chunk_report.hpp"
#include "threads/parts.hpp"
#include "threads/switch_notes.hpp"

namespace readmost::detail {

namespace {

// Neither free nor a passive hold.
constexpr std::uintptr_t never_free = ~std::uintptr_t{0};

// The highest bit tells a writer that it has no record.
constexpr std::uint64_t writes_of_nobody = std::uint64_t{1} << 63;

enum : std::uint32_t { undecided, works, missing };

READMOST_THREAD_LOCAL bool registering = false;
READMOST_THREAD_LOCAL bool departed = false;
// The record that the calling thread is giving back, taking or trying to take. If a signal handler
// forks meanwhile, the thread goes on with that record in the child.
READMOST_THREAD_LOCAL thread_record* changing_hands = nullptr;

platform::atomic<std::uint32_t> membarrier_state{undecided};

// A bit for each domain in use by a lock_domain. The process's own domain is never free, nor are
// bits beyond the last domain.
platform::atomic<std::uint64_t> domains_taken{~std::uint64_t{0} << max_domains | 1};

// Enough records for most programs, without mapping memory.
constinit chunk first_chunk;
constinit index_block first_block{.entries = {{.records = &first_chunk}}};

thread_record* take_from(index_entry& entry, chunk& c) noexcept {
  std::uint64_t used = c.used.load(platform::relaxed);
  while (used != ~std::uint64_t{0}) {
    const auto number = static_cast<std::uint32_t>(std::countr_one(used));
    thread_record& record = c.records[number];
    changing_hands = &record;
    platform::signal_fence();
    // (R6) Pairs with (R7): the last owner no longer uses the record.
    if (c.used.compare_exchange_weak(used, used | bit(number), at(letter::R6, platform::acquire),
                                     platform::relaxed)) {
      // Once, since rounds read it when the record is in the index. A fork's child may find a
      // record taken where this is not done yet.
      if (record.in_chunk == nullptr) {
        record.in_chunk = &c;
        record.in_index = &entry;
      }
      return &record;
    }
  }
  return nullptr;
}

chunk* make_chunk(unsigned domain) noexcept {
  auto* fresh = static_cast<chunk*>(platform::map_pages(sizeof(chunk)));
  if (fresh != nullptr) {
    fresh->domain = domain;
    fresh->block.entries[0].records.store(fresh, platform::relaxed);
  }
  return fresh;
}

// Sets a link that is null, or follows it. (R4) Release: a thread that follows it (R3) finds the
// chunk and the block filled.
template <class Linked>
bool set_or_follow(platform::atomic<Linked*>& link, Linked* fresh, Linked*& found) noexcept {
  found = link.load(at(letter::R3, platform::acquire));
  return found == nullptr &&
         link.compare_exchange_strong(found, fresh, at(letter::R4, platform::release),
                                      at(letter::R3, platform::acquire));
}

// Appends a chunk to the domain. False if there is no memory. The loser of a race appends its chunk
// behind the winner's.
bool append_chunk(unsigned domain) noexcept {
  chunk* const fresh = make_chunk(domain);
  if (fresh == nullptr) return false;
  fresh->reports_as_one = platform::usable_cpus() > chunk::capacity;
  for (index_block* block = domains[domain].index.load(platform::relaxed);;) {
    for (index_entry& entry : block->entries) {
      chunk* other = nullptr;
      if (set_or_follow(entry.records, fresh, other)) return true;
    }
    index_block* next = nullptr;
    if (set_or_follow(block->next, &fresh->block, next)) return true;
    block = next;
  }
}

// What the link leads to, if need be a chunk that is appended now; null without memory.
template <class Linked>
Linked* follow_or_append(platform::atomic<Linked*>& link, unsigned domain) noexcept {
  Linked* const found = link.load(at(letter::R3, platform::acquire));
  if (found != nullptr || !append_chunk(domain)) return found;
  return link.load(at(letter::R3, platform::acquire));
}

thread_record* take_record(unsigned domain) noexcept {
  index_block* block = domains[domain].index.load(platform::relaxed);
  while (block != nullptr) {
    for (index_entry& entry : block->entries) {
      chunk* const c = follow_or_append(entry.records, domain);
      if (c == nullptr) return nullptr;
      if (thread_record* record = take_from(entry, *c)) return record;
    }
    block = follow_or_append(block->next, domain);
  }
  return nullptr;
}

void give_back(thread_record& record) noexcept {
  // (R7) Pairs with (R6) and (BR18): the next owner finds the record as the last one left it.
  give_back_bit(chunk_of(record).used, number_of(record), at(letter::R7, platform::release));
}

void enter_index(thread_record& me) noexcept {
  entry_of(me).present.fetch_or(bit(number_of(me)), platform::relaxed);
}

void on_thread_exit() noexcept {
  departed = true;
  for_each_own_record([](thread_record& me) {
    call_parts(&part::on_exit, me);
    go_offline(me);
    // A writer may sleep until a passive hold is released, or a grace period until a section is
    // over.
    if (!is_mutant(mutant::silent_conversion)) wake_all_drain_sleepers(domain_of(me));
    const unsigned domain = chunk_of(me).domain;
    changing_hands = &me;
    // First: whoever visits the calling thread's records must find no `unregistered` among them.
    memberships &= ~(1U << domain);
    platform::signal_fence();
    own_records[domain] = &unregistered;
    platform::signal_fence();
    call_parts(&part::on_departure, me);
    give_back(me);
    platform::signal_fence();
    changing_hands = nullptr;
  });
}

void forget_other_threads(domain& d) noexcept {
  const thread_record& mine = my_record(number_of(d));
  for (entry_walk walk(d); walk.records() != nullptr; walk.next()) {
    chunk& c = *walk.records();
    std::uint64_t kept = 0;
    std::uint64_t present = 0;
    for (std::uint32_t i = 0; i < chunk::capacity; ++i) {
      thread_record& record = c.records[i];
      if (&record == &mine || &record == changing_hands) {
        kept |= bit(i);
        record.thread.store(platform::thread_id(), platform::relaxed);
      }
      if (&record == &mine) {
        present |= bit(i);
        record.mode.store(static_cast<std::uint32_t>(participation::dormant), platform::relaxed);
      } else {
        clear_where_set(record.mode);
      }
    }
    c.used.fetch_and(kept, platform::relaxed);
    walk.entry().present.store(present, platform::relaxed);
  }
  for (drain_place& place : d.drains) place.sleepers.store(0, platform::relaxed);
}

}  // namespace

// The child has only the forking thread, and the records of all threads as they were.
constinit part registry_part{.in_child = [] {
  // The kernel notes the parent's switches.
  clear_where_set(notes_of_switches);
  for_each_domain(forget_other_threads);
  forget_fences();
  membarrier_state.store(undecided, platform::relaxed);
}};

READMOST_THREAD_LOCAL constinit thread_record* own_records[max_domains] = {
    &unregistered, &unregistered, &unregistered, &unregistered, &unregistered, &unregistered,
    &unregistered, &unregistered, &unregistered, &unregistered, &unregistered, &unregistered,
    &unregistered, &unregistered, &unregistered, &unregistered};
READMOST_THREAD_LOCAL std::uint32_t memberships = 0;

constinit thread_record unregistered{.held = {never_free, never_free, never_free, never_free,
                                              never_free, never_free, never_free, never_free},
                                     .section = section_of_nobody,
                                     .nested_held = {never_free},
                                     .noted = {never_free, never_free, never_free, never_free,
                                               never_free, never_free, never_free, never_free},
                                     .writes = writes_of_nobody};

constinit domain domains[max_domains] = {{.index = &first_block}};

bool membarrier_works() noexcept {
  std::uint32_t state = membarrier_state.load(platform::relaxed);
  if (state == undecided) [[unlikely]] {
    state = platform::enable_heavy_fence() ? works : missing;
    membarrier_state.store(state, platform::relaxed);
  }
  return state == works;
}

bool is_membarrier_missing() noexcept {
  return membarrier_state.load(platform::relaxed) == missing;
}

void give_up_membarrier() noexcept {
  membarrier_state.store(missing, platform::relaxed);
}

thread_record* enlist(unsigned domain) noexcept {
  if (own_records[domain] != &unregistered) [[likely]]
    return own_records[domain];
  if (departed || registering) return nullptr;
  registering = true;
  platform::signal_fence();
  // A signal handler may have registered the thread since.
  if (own_records[domain] != &unregistered) {
    registering = false;
    return own_records[domain];
  }
  watch_forks();
  thread_record* record = take_record(domain);
  if (record != nullptr) {
    platform::watch_thread_exit(on_thread_exit);
    record->thread.store(platform::thread_id(), platform::relaxed);
    begin_switch_notes(*record);
    call_parts(&part::on_enlist, *record);
    own_records[domain] = record;
    memberships |= 1U << domain;
  }
  platform::signal_fence();
  changing_hands = nullptr;
  registering = false;
  return record;
}

void report_where_asked() noexcept {
  for_each_own_record([](thread_record& mine) {
    if (domain_of(mine).version.load(platform::relaxed) != mine.seen.load(platform::relaxed)) {
      report(mine);
    }
  });
}

unsigned take_domain() noexcept {
  // (R9) Pairs with (R10): the last owner of the number no longer uses it.
  const std::uint32_t number = take_bit(domains_taken, at(letter::R9, platform::acquire));
  if (number == no_bit) return 0;
  // Chunks stay from the last owner, and so do records of its threads that still run.
  domain& d = domains[number];
  if (d.index.load(platform::relaxed) == nullptr) {
    chunk* first = make_chunk(number);
    if (first == nullptr) {
      give_back_bit(domains_taken, number, platform::relaxed);
      return 0;
    }
    d.index.store(&first->block, platform::relaxed);
  }
  call_parts(&part::on_new_domain, number);
  return number;
}

void give_back_domain(unsigned number) noexcept {
  give_back_bit(domains_taken, number, at(letter::R10, platform::release));
}

namespace {

bool enter_index_and_come_online(thread_record& me) noexcept {
  std::uint32_t mode = me.mode.load(platform::relaxed);
  for (;;) {
    const participation now = participation_of(mode);
    if (now == participation::online) return true;
    if (now == participation::unlisting || !membarrier_works()) return false;
    // The record enters the index before the thread is online: a round must not miss a thread that
    // can lock passively.
    if (now == participation::offline) enter_index(me);
    const std::uint32_t online = ((mode & ~participation_mask) + participation_period) |
                                 static_cast<std::uint32_t>(participation::online);
    if (me.mode.compare_exchange_weak(mode, online, platform::relaxed, platform::relaxed)) {
      break;
    }
  }
  // (F) Index and mode are written before any lock is read next. Pairs with (K1) in consensus.cpp:
  // either the round sees this thread online, or this thread sees the writer's writes.
  platform::full_fence_after_rmw(letter::F);
  me.idle_rounds.store(0, platform::relaxed);
  report(me);
  return true;
}

#if defined(READMOST_FAULTS)
#include <mutants/registry.hpp>
#endif

}  // namespace

bool come_online(thread_record& me) noexcept {
  return READMOST_VARIANT(online_before_index, enter_index_and_come_online(me),
                          come_online_and_enter_index(me));
}

bool stay_visible(thread_record& me) noexcept {
  std::uint32_t mode = me.mode.load(platform::relaxed);
  for (;;) {
    const participation now = participation_of(mode);
    if (now == participation::unlisting) return false;
    if (now == participation::offline) enter_index(me);
    const participation next = now == participation::online ? now : participation::dormant;
    const std::uint32_t visible =
        ((mode & ~participation_mask) + participation_period) | static_cast<std::uint32_t>(next);
    // (Q1) Pairs with (T1): a round that then unlists the record finds the section or hold in it.
    if (me.mode.compare_exchange_weak(mode, visible, at(letter::Q1, platform::release),
                                      platform::relaxed)) {
      break;
    }
  }
  // (F1) Index, and section or hold, are written before what is read next. Pairs with (K1) as (F).
  platform::full_fence_after_rmw(letter::F1);
  me.idle_rounds.store(0, platform::relaxed);
  return true;
}

void go_offline(thread_record& me) noexcept {
  std::uint32_t mode = me.mode.load(platform::relaxed);
  while (participation_of(mode) == participation::online) {
    const std::uint32_t dormant =
        (mode & ~participation_mask) | static_cast<std::uint32_t>(participation::dormant);
    // (Q) Release pairs with (L1) in consensus.cpp: all holds are in the slots.
    if (me.mode.compare_exchange_weak(mode, dormant, at(letter::Q, platform::release),
                                      platform::relaxed)) {
      return;
    }
  }
}

namespace {

thread_record& lowest(const entry_walk& entries, std::uint64_t bits) noexcept {
  return entries.records()->records[std::countr_zero(bits)];
}

bool is_full(std::uint64_t present) noexcept {
  return present == ~std::uint64_t{0};
}

// Whether rounds use a report for that chunk. Reads a line of it on large machines only.
bool is_reported(const entry_walk& at) noexcept {
  return at.records() != nullptr && known_cpus() > chunk::capacity &&
         is_reported(*at.records(), at.entry().present.load(platform::relaxed));
}

}  // namespace

present_walk::present_walk(domain& d, const thread_record* but, fetched what,
                           std::uint64_t settled_since) noexcept
    : entries_(d), ahead_(entries_), but_(but), what_(what), settled_since_(settled_since) {
  enter_chunk();
  settle();
}

void present_walk::next() noexcept {
  left_ &= left_ - 1;
  if (fetched_ != 0) --fetched_;
  fetch();
  settle();
}

void present_walk::put_off() noexcept {
  put_off_ |= left_ & -left_;
  left_ &= left_ - 1;
  if (left_ != 0) fetch_again();
  settle();
}

bool present_walk::is_next_chunk_reported() const noexcept {
  if (!is_full_) return false;
  entry_walk next = entries_;
  next.next();
  return is_reported(next);
}

void present_walk::fetch_again() noexcept {
  fetch_from_here();
  fetch();
}

void present_walk::fetch_from_here() noexcept {
  ahead_ = entries_;
  is_ahead_ = false;
  ahead_is_full_ = is_full_;
  unfetched_ = left_ & (left_ - 1);
  fetched_ = 0;
}

void present_walk::fetch() noexcept {
  const std::uint32_t enough = what_ == fetched::slots_too ? lines_ahead / 2 : lines_ahead;
  for (; fetched_ < enough && (unfetched_ != 0 || looks_into_next_chunk()); ++fetched_) {
    const thread_record& record = lowest(ahead_, unfetched_);
    platform::prefetch(&record.seen);
    if (what_ == fetched::slots_too) platform::prefetch(&record.held);
    unfetched_ &= unfetched_ - 1;
  }
}

// Whether there are records to fetch in the next chunk. It is looked at only if this one is full:
// where there are few threads, there is no other. Its records are not fetched where a report for
// the chunk may save looks at them.
bool present_walk::looks_into_next_chunk() noexcept {
  if (!ahead_is_full_) return false;
  entry_walk next = ahead_;
  next.next();
  const std::uint64_t present =
      next.records() == nullptr ? 0 : next.entry().present.load(platform::relaxed);
  if (present == 0 || (settled_since_ != 0 && is_reported(next))) {
    ahead_is_full_ = false;
    return false;
  }
  ahead_ = next;
  is_ahead_ = true;
  unfetched_ = present;
  ahead_is_full_ = is_full(present);
  return true;
}

// Goes on to the first record that is left and is not `but`.
void present_walk::settle() noexcept {
  for (; entries_.records() != nullptr; enter_next_chunk(), fetch()) {
    for (; left_ != 0 || come_back(); left_ &= left_ - 1) {
      record_ = &lowest(entries_, left_);
      if (record_ != but_) return;
    }
  }
  record_ = nullptr;
}

// To the records of the chunk that have been put off; false if there are none.
bool present_walk::come_back() noexcept {
  if (put_off_ == 0) return false;
  left_ = put_off_;
  put_off_ = 0;
  fetch_again();
  return true;
}

void present_walk::enter_next_chunk() noexcept {
  entries_.next();
  if (!behind_first_chunk_ && settled_since_ != 0) fetch_reports();
  behind_first_chunk_ = true;
  enter_chunk();
}

// Those of the next chunks, before the walk needs the first.
void present_walk::fetch_reports() noexcept {
  constexpr int most = 8;
  entry_walk chunks = entries_;
  for (int i = 0; i < most && chunks.records() != nullptr; ++i, chunks.next()) {
    platform::prefetch(&chunks.records()->report);
  }
}

void present_walk::enter_chunk() noexcept {
  if (entries_.records() == nullptr) return;
  // (R8) Pairs with (T3) in consensus.cpp: the sections of threads that have left the index happen
  // before this.
  left_ = entries_.entry().present.load(at(letter::R8, platform::acquire));
  is_full_ = is_full(left_);
  if (behind_first_chunk_ && settled_since_ != 0) {
    left_ &= ~settled_in(*entries_.records(), left_, settled_since_);
  }
  if (!is_ahead_) fetch_from_here();
  is_ahead_ = false;
}

}  // namespace readmost::detail
