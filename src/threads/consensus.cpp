// SPDX-License-Identifier: Apache-2.0
// Consensus between a writer and all readers (FCP 3.2, 7.1).
//
// Problem. A passive reader publishes its hold with a plain store and then loads the lock's state.
// The processor may execute the load first. So a writer that closes the lock and then reads the
// slots could miss the reader while the reader misses the writer. One of the two needs a full
// fence; here, as in the paper, it is the writer.
//
// Solution. After closing the lock (K) the writer begins a round: a fence (K1), then it raises the
// domain's version. For each thread of the domain one of five cases then holds.
//   The thread reports (E1, E2): it loads the new version and then stores it in `seen`.
//     A writer that reads `seen` sees everything the thread published before, and the thread sees
//     (K) afterwards. If the thread reported that it holds nothing, its slots need not be read.
//     With more than 64 CPUs and threads, another thread may have read it for the writer
//     (chunk_report.hpp).
//   The thread comes online (F), with a full fence of its own before it next reads a lock.
//   The thread is dormant or offline: it cannot lock passively before (F) or, where membarrier is
//     missing, without a full fence behind each hold that it publishes (F1, F2).
//   The kernel notes that the thread is switched out (SW3): with the scheduler's help only.
//     The switches before and after that are its fences.
//   The thread does none of these soon: it is a straggler.
//     One membarrier (H) covers all stragglers and makes them dormant, so later rounds need not
//     wait for them. A thread that does not run, or does not use its locks, thus costs one
//     membarrier; an active one reports; and in the steady state a round makes no system call
//     (FCP 7.1, domain online and offline).
#include <algorithm>
#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/spinning.hpp>

#include "platform/known_cpus.hpp"
#include "platform/probes.hpp"
#include "threads/chunk_report.hpp"
#include "threads/registry.hpp"
#include "threads/switch_notes.hpp"

namespace readmost::detail {

namespace {

// The number of stragglers that one round can make dormant; later rounds handle the others.
constexpr std::size_t stragglers_at_once = 64;

// A round waits for reports as long as a membarrier takes, within these bounds (nanoseconds). Both
// take longer the more CPUs there are: docs/scaling.md.
constexpr std::uint64_t shortest_wait = 300;
constexpr std::uint64_t longest_wait(std::uint64_t cpus) noexcept {
  return std::max<std::uint64_t>(3000, 100 * cpus);
}
platform::atomic<std::uint64_t> wait_for_reports{2000};

// After this time every store of every CPU is visible, with orders of magnitude to spare. Only
// needed if membarrier is missing or stops working.
constexpr std::uint64_t store_buffers_drained = 10'000'000;

constexpr std::uint32_t idle_rounds_until_unlisted = 8;

// The rounds of all domains share membarriers, because one serves the whole process.
constinit struct {
  alignas(platform::cache_line) platform::atomic<std::uint64_t> wanted{};
  platform::atomic<std::uint64_t> done{};
  platform::atomic<std::uint32_t> in_flight{};
} fences;

bool can_lock_passively(std::uint32_t mode) noexcept {
  const participation p = participation_of(mode);
  return p == participation::online || p == participation::leaving;
}

std::uint32_t with_participation(std::uint32_t mode, participation next) noexcept {
  return (mode & ~participation_mask) | static_cast<std::uint32_t>(next);
}

bool has_seen(const thread_record& record, std::uint64_t version) noexcept {
  const std::uint64_t enough = READMOST_VARIANT(one_version_too_few, version, version - 2);
  return is_as_new(record.seen.load(platform::relaxed), enough);
}

bool is_straggler(const thread_record& record, std::uint64_t version) noexcept {
  // (L1) Acquire pairs with the release of (Q) in registry.cpp. `seen` is acquired where it is
  // relied on, by (L4).
  return can_lock_passively(record.mode.load(at(letter::L1, platform::acquire))) &&
         !has_seen(record, version);
}

// Makes (B) and (D1) full fences in every thread: the caller sees each thread's earlier stores, and
// each thread sees the caller's writes afterwards.
bool fence_now(letter name) noexcept {
  const std::uint64_t start = platform::now();
  if (!platform::heavy_fence(name)) {
    give_up_membarrier();
    return false;
  }
  const std::uint64_t cost = platform::now() - start;
  READMOST_PROBE(membarrier, cost);
  wait_for_reports.store(std::clamp(cost, shortest_wait, longest_wait(known_cpus())),
                         platform::relaxed);
  return true;
}

// Makes sure that one membarrier runs after the call, the caller's own or another's. Does not wait
// long for another: its thread may be off its CPU, or in a signal handler that waits for this one.
// `name`: the letter of the caller's own.
bool fence_all(letter name) noexcept {
  if (is_mutant(mutant::no_membarrier)) return true;
  const std::uint32_t turns = platform::spins(256);
  const std::uint64_t ticket = fences.wanted.fetch_add(1, platform::release) + 1;
  for (std::uint32_t turn = 0; turn < turns; ++turn) {
    // (S2) Pairs with the other's heavy fence: the writes that it made visible are visible to the
    // caller.
    if (fences.done.load(at(letter::S2, platform::acquire)) >= ticket) return true;
    if (fences.in_flight.exchange(1, platform::relaxed) == 0) {
      // Tickets up to this one were taken, with all that precedes them, before the fence begins.
      const std::uint64_t covered = fences.wanted.load(platform::relaxed);
      const bool fenced = fence_now(name);
      if (fenced) {
        fences.done.store(
            READMOST_VARIANT(foreign_fence_trusted, covered, fences.wanted.load(platform::relaxed)),
            platform::relaxed);
      }
      fences.in_flight.store(0, platform::relaxed);
      return fenced;
    }
    platform::relax();
  }
  return fence_now(name);
}

// Whether the thread is leaving, because of this call or of another round's; `mode` is then what
// its record says. False if it has changed its mode meanwhile.
bool is_told_to_leave(thread_record& record, std::uint32_t& mode) noexcept {
  mode = record.mode.load(platform::relaxed);
  if (participation_of(mode) == participation::online) {
    const participation next =
        is_mutant(mutant::dormant_at_once) ? participation::dormant : participation::leaving;
    const std::uint32_t told = with_participation(mode, next);
    if (!record.mode.compare_exchange_strong(mode, told, platform::relaxed)) return false;
    mode = told;
  }
  return participation_of(mode) == participation::leaving;
}

// Runs a membarrier and makes the stragglers from there on dormant. In two steps: until the fence
// is over, `leaving` tells other rounds that the straggler still needs one.
void fence_stragglers(present_walk walk, std::uint64_t version) noexcept {
  struct {
    thread_record* record;
    std::uint32_t mode;
  } leaving[stragglers_at_once];
  std::size_t found = 0;
  for (; walk.record() != nullptr && found < stragglers_at_once; walk.next()) {
    thread_record& record = *walk.record();
    if (!is_straggler(record, version)) continue;
    platform::prefetch_for_write(&record.mode);
    leaving[found++].record = &record;
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < found; ++i) {
    thread_record& record = *leaving[i].record;
    std::uint32_t mode;
    if (is_straggler(record, version) && is_told_to_leave(record, mode)) {
      leaving[count++] = {&record, mode};
    }
  }
  // (H) Between (K) and the loads of the slots (L). Makes (B) a full fence in every thread.
  if (!fence_all(letter::H)) platform::sleep_for(store_buffers_drained);
  for (std::size_t i = 0; i < count; ++i) platform::prefetch_for_write(&leaving[i].record->mode);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t dormant = with_participation(leaving[i].mode, participation::dormant);
    // Fails if the thread has come online meanwhile. The heavy fence also happens before a round
    // that sees it dormant (L1, L3, T1).
    leaving[i].record->mode.compare_exchange_strong(leaving[i].mode, dormant, platform::relaxed,
                                                    platform::relaxed);
  }
}

// Takes a dormant record, whose mode is `mode`, out of the index if it holds nothing.
void unlist(thread_record& record, std::uint32_t mode) noexcept {
  const std::uint32_t period = mode & ~participation_mask;
  const std::uint32_t unlisting = period | static_cast<std::uint32_t>(participation::unlisting);
  if (!record.mode.compare_exchange_strong(mode, unlisting, platform::relaxed, platform::relaxed)) {
    return;
  }
  // (T1) The mode before the slots. Pairs with (Q) and the heavy fence (H): the thread's remaining
  // holds are in the slots. And with (F2): a thread that still finds itself dormant has published
  // its fenced hold before.
  platform::full_fence_after_rmw(letter::T1);
  participation next = participation::offline;
  for_each_slot(record, [&](const auto& slot, std::size_t) {
    // (T2) As (L): the record's sections happen before a writer that does not find it in the index.
    if (is_passive_hold(slot.load(at(letter::T2, platform::acquire))) &&
        !is_mutant(mutant::unlists_holders)) {
      next = participation::dormant;
    }
    return true;
  });
  // (T5) As (T2), for grace periods (G4).
  if (is_open(record.section.load(at(letter::T5, platform::acquire))) &&
      !is_mutant(mutant::unlists_sections)) {
    next = participation::dormant;
  }
  if (next == participation::offline) {
    // (T3) Pairs with (R8): (T2) happens before a round that does not find the record.
    give_back_bit(entry_of(record).present, number_of(record), at(letter::T3, platform::release));
  }
  record.idle_rounds.store(0, platform::relaxed);
  // Only the caller changes the mode now. The order has no letter: it keeps this store behind (T3),
  // so that the thread can enter the index again, and the checker never lets a store pass another.
  // That (L1) and (L3) see what (Q) released, whose value this replaces, is due to (T1).
  record.mode.store(period | static_cast<std::uint32_t>(next), platform::release);
}

// Takes a record that has long been dormant and holds nothing out of the index. Runs at every
// consensus, because each writer reads all records in the index.
void unlist_if_idle(thread_record& record) noexcept {
  std::uint32_t mode = record.mode.load(platform::relaxed);
  if (participation_of(mode) != participation::dormant) {
    // No needless store: the owner reads this line in every section.
    if (record.idle_rounds.load(platform::relaxed) != 0) {
      record.idle_rounds.store(0, platform::relaxed);
    }
    return;
  }
  const std::uint32_t idle = record.idle_rounds.load(platform::relaxed) + 1;
  record.idle_rounds.store(idle, platform::relaxed);
  if (idle < idle_rounds_until_unlisted || is_mutant(mutant::idle_for_ever)) return;
  unlist(record, mode);
}

// Whether the straggler is switched out, so that the round may pass it: it is behind (K1), and what
// the thread has published is visible. Makes it dormant too, since a thread that sleeps for long
// should not keep later rounds busy.
bool is_settled_by_note(thread_record& record) noexcept {
  if (!is_switched_out(record)) return false;
  std::uint32_t mode;
  if (!is_told_to_leave(record, mode)) return true;
  // (SW4) `leaving` before the second look at the note. Pairs with (SW2): the thread finds it when
  // it runs again, or this look finds that it runs.
  platform::full_fence(letter::SW4);
  if (is_mutant(mutant::dormant_by_one_look) || is_switched_out(record)) {
    // (SW5) As (Q): all holds are in the slots.
    record.mode.compare_exchange_strong(mode, with_participation(mode, participation::dormant),
                                        at(letter::SW5, platform::release), platform::relaxed);
  }
  return true;
}

// Goes on to the first record whose thread has not reported `version` and still has to; to the end
// if `version` is 0. A record that is behind it needs no second look: a thread that comes online
// later does so with a fence (F), and one that is switched in with another (SW2).
void pass_reported(present_walk& walk, std::uint64_t version) noexcept {
  for (; walk.record() != nullptr; walk.next()) {
    if (version != 0 && is_straggler(*walk.record(), version) &&
        !is_settled_by_note(*walk.record())) {
      return;
    }
    unlist_if_idle(*walk.record());
  }
}

// Spins until no straggler is left or a membarrier would have cost less.
void await_reports(present_walk& walk, std::uint64_t version) noexcept {
  // Where threads report by chunk, this thread has the first one to look at. Once a thread has
  // reported, others are about to, and the walk does not stay at one that does not.
  const bool by_chunk = walk.is_next_chunk_reported();
  const std::uint32_t turns_at_first = by_chunk ? platform::pauses(18) : 0;
  const std::uint32_t turns_at_others = by_chunk ? platform::pauses(3) : 0;
  const thread_record* straggler = nullptr;
  std::uint32_t turns_left = turns_at_first;
  const auto look_ahead = [&] {
    if (has_seen(*straggler, version)) {
      if (turns_left > turns_at_others) await_other_reports();
      walk.fetch_again();
      turns_left = turns_at_others;
    } else if (turns_left > 1) {
      --turns_left;
    } else {
      walk.put_off();
      turns_left = turns_at_others;
    }
  };
  spin_for(
      patience_for_reports(),
      [&] {
        if (by_chunk && straggler != nullptr) look_ahead();
        pass_reported(walk, version);
        straggler = walk.record();
        return straggler == nullptr;
      },
      [](std::uint32_t) {});
}

}  // namespace

void leave_index(thread_record& me) noexcept {
  go_offline(me);
  const std::uint32_t mode = me.mode.load(platform::relaxed);
  if (participation_of(mode) == participation::dormant) unlist(me, mode);
}

void forget_fences() noexcept {
  fences.wanted.store(0, platform::relaxed);
  fences.done.store(0, platform::relaxed);
  fences.in_flight.store(0, platform::relaxed);
}

namespace {

// Returns the version that it has reported.
std::uint64_t report_as(thread_record& me, bool inside) noexcept {
  // (E1) Acquire pairs with (K1): everything a writer wrote before it raised the version is visible
  // from here on. (E2) Release pairs with (L4), (G5), (HP6), (BR17) and (CR1): a writer that reads
  // `seen` sees everything this thread has published and done until here. Together they act as a
  // full fence at (B).
  const std::uint64_t version = domain_of(me).version.load(at(letter::E1, platform::acquire));
  std::uint64_t busy = 0;
  if (!is_mutant(mutant::report_while_holding)) {
    if (inside) busy = 1;
    // Also with a hold that another thread has moved: the owner may be about to clear its slot, and
    // must then find that it has to report.
    for_each_slot(me, [&](const auto& slot, std::size_t) {
      if (slot.load(platform::relaxed) != 0) busy = 1;
      return true;
    });
  }
  me.seen.store(version | busy, at(letter::E2, platform::release));
  return version;
}

bool is_inside(const thread_record& me) noexcept {
  return is_open(me.section.load(platform::relaxed));
}

}  // namespace

void report(thread_record& me) noexcept {
  report_for_chunk(me, report_as(me, is_inside(me)));
}

void report_new_section(thread_record& me) noexcept {
  const std::uint64_t version = report_as(me, false);
  // A thread that took it for an older section may sleep until it ends, and that end will find
  // nothing to report.
  wake_drain_sleepers(domain_of(me), nullptr);
  report_for_chunk(me, version);
}

void report_after_release(thread_record& me, const void* lock) noexcept {
  if (&me == &unregistered) return;
  const std::uint64_t version = report_as(me, is_inside(me));
  if (!is_mutant(mutant::lost_drain_wakeup)) wake_drain_sleepers(domain_of(me), lock);
  report_for_chunk(me, version);
}

std::uint64_t patience_for_reports() noexcept {
  return wait_for_reports.load(platform::relaxed);
}

std::uint64_t begin_round(domain& d, const thread_record* me) noexcept {
  // (K1) The caller's read-modify-write (K) before the loads of index and modes. Pairs with (F).
  platform::full_fence_after_rmw(letter::K1);
  for (present_walk walk(d, me); walk.record() != nullptr; walk.next()) {
    // (L3) Acquire as (L1): the holds of a dormant thread are in its slots.
    if (can_lock_passively(walk.record()->mode.load(at(letter::L3, platform::acquire)))) {
      // Follows (K1), which pairs with (E1): (K) is visible to a thread that loads this version.
      return d.version.fetch_add(2, platform::relaxed) + 2;
    }
  }
  return 0;
}

bool has_been_reported(domain& d, const thread_record* me, std::uint64_t version) noexcept {
  present_walk walk(d, me);
  while (walk.record() != nullptr &&
         (!is_straggler(*walk.record(), version) || is_switched_out(*walk.record()))) {
    walk.next();
  }
  return walk.record() == nullptr;
}

round_kind end_round(domain& d, thread_record* me, std::uint64_t version, bool patient) noexcept {
  present_walk walk(d, me, fetched::reports, version);
  if (patient && version != 0) {
    await_reports(walk, version);
  } else {
    pass_reported(walk, version);
  }
  if (version == 0) return round_kind::none;
  const bool reported = walk.record() == nullptr;
  if (!reported) {
    fence_stragglers(walk, version);
    pass_reported(walk, 0);
  }
  auto& rounds = reported ? d.rounds_by_reports : d.rounds_by_membarrier;
  rounds.store(rounds.load(platform::relaxed) + 1, platform::relaxed);
  return reported ? round_kind::reports : round_kind::membarrier;
}

round reach_consensus(domain& d, thread_record* me) noexcept {
  if (is_mutant(mutant::skip_consensus)) return {0, round_kind::none, 0};
  const std::uint64_t version = begin_round(d, me);
  const std::uint64_t start = version != 0 ? platform::now() : 0;
  const round_kind kind = end_round(d, me, version, true);
  return {version, kind, version != 0 ? platform::now() - start : 0, version != 0};
}

round round_without_reports(domain& d, thread_record* me) noexcept {
  if (is_mutant(mutant::skip_consensus)) return {0, round_kind::none, 0};
  // (K1) As above. Pairs with (F1) and (F2), too.
  platform::full_fence_after_rmw(letter::K1);
  const bool among_others = present_walk(d, me).record() != nullptr;
  return {0, end_round(d, me, 0, true), 0, among_others};
}

namespace {

std::int64_t passive_holds_in(const thread_record& record, std::uintptr_t lock) noexcept {
  std::int64_t holds = 0;
  for_each_slot(record, [&](const auto& slot, std::size_t) {
    // (L) Acquire pairs with (D): if the slot is clear, the reader's section is over and visible.
    if (slot.load(at(letter::L, platform::acquire)) == lock) ++holds;
    return true;
  });
  return holds;
}

}  // namespace

std::int64_t passive_holds(domain& d, const void* lock, const thread_record* me,
                           std::uint64_t round) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(lock);
  std::int64_t holds = 0;
  const auto count = [&](const thread_record& record) {
    // (L4) Pairs with (E2): all that a thread did before it reported to hold nothing is visible.
    // Records that the walk leaves out are the same case. The caller's own is not among them if it
    // holds the lock.
    const std::uint64_t seen = record.seen.load(at(letter::L4, platform::acquire));
    const bool held_nothing = round != 0 && &record != me && is_settled(seen, round);
    if (!held_nothing) holds += passive_holds_in(record, wanted);
    return true;
  };
  for_each_present(d, count, round == 0 ? fetched::slots_too : fetched::reports, round);
  return holds;
}

bool pass_released(present_walk& walk, const void* lock) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(lock);
  for (; walk.record() != nullptr; walk.next()) {
    if (passive_holds_in(*walk.record(), wanted) != 0) return false;
  }
  return true;
}

void erase_passive_holds(domain& d, const void* lock) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(lock);
  for_each_present(d, [&](thread_record& record) {
    for_each_slot(record, [&](auto& slot, std::size_t) {
      std::uintptr_t held = slot.load(platform::relaxed);
      if ((held & ~moved_hold) == wanted) {
        slot.compare_exchange_strong(held, 0, platform::relaxed, platform::relaxed);
      }
      return true;
    });
    for (auto& moved : record.moved) {
      std::uintptr_t expected = wanted;
      if (moved.load(platform::relaxed) == wanted) {
        moved.compare_exchange_strong(expected, 0, platform::relaxed, platform::relaxed);
      }
    }
    return true;
  });
}

namespace {

// From now on, a thread that clears a slot finds a version that it has not reported, until it has
// cleared all of them. If it cleared the slot before, the caller sees that. False if the heavy
// fence has failed, so that only time makes it true.
bool ask_who_releases(domain& d) noexcept {
  // (O1) Pairs with (E1): a thread that reports this version sees what the caller did before.
  d.version.fetch_add(2, at(letter::O1, platform::release));
  return fence_all(letter::O3);
}

}  // namespace

void make_releases_report(domain& d) noexcept {
  if (!ask_who_releases(d)) platform::sleep_for(store_buffers_drained);
}

drain_sleep::drain_sleep(domain& d, const void* lock) noexcept : place_(d.drain_place_of(lock)) {
  go_offline();
  // The announcement comes before the heavy fence (O3): a thread that clears a slot afterwards
  // looks for sleepers and finds it.
  place_.sleepers.fetch_add(1, platform::relaxed);
  fenced_ = ask_who_releases(d);
}

drain_sleep::~drain_sleep() {
  place_.sleepers.fetch_sub(1, platform::relaxed);
}

std::uint32_t drain_sleep::epoch() const noexcept {
  // (O5) Before the caller reads the slots. Pairs with (N): a wake-up in between changes the word
  // that it sleeps on.
  return place_.epoch.load(at(letter::O5, platform::acquire));
}

platform::wake_reason drain_sleep::wait(std::uint32_t epoch,
                                        const platform::deadline* until) const noexcept {
  const platform::futex_word word = platform::futex_of(place_.epoch);
  if (fenced_) return platform::futex_wait(word, epoch, ~0U, until);
  // A reader may have looked for sleepers too early.
  if (until != nullptr && platform::time_left(*until) == 0) return platform::wake_reason::timed_out;
  constexpr std::uint64_t until_next_look = 100'000;
  platform::futex_nap(word, epoch, until_next_look);
  return platform::wake_reason::woken;
}

namespace {

void wake(drain_place& place) noexcept {
  if (place.sleepers.load(platform::relaxed) == 0) return;
  // (N) Pairs with (O5): a sleeper that reads this epoch sees the release.
  place.epoch.fetch_add(1, at(letter::N, platform::release));
  platform::futex_wake(platform::futex_of(place.epoch), INT32_MAX, ~0U);
}

}  // namespace

void wake_drain_sleepers(domain& d, const void* lock) noexcept {
  // The release comes before the loads: in the compiler by this fence, in the processor by the
  // sleeper's heavy fence (O3).
  platform::signal_fence();
  wake(d.drain_place_of(lock));
}

void wake_all_drain_sleepers(domain& d) noexcept {
  platform::signal_fence();
  for (drain_place& place : d.drains) wake(place);
}

}  // namespace readmost::detail
