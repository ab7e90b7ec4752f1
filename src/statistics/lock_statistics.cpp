#include "statistics/lock_statistics.hpp"

namespace readmost::detail {

namespace {

constexpr std::uint64_t writes_between_timed = 64;

platform::atomic<bool> backtraces_wanted{false};

// The entry that the calling thread used last.
READMOST_THREAD_LOCAL std::uintptr_t last_lock = 0;
READMOST_THREAD_LOCAL std::size_t last_entry = 0;

// The calling thread's cells; null before it needs them and after its exit.
READMOST_THREAD_LOCAL tally_cells* own_cells = nullptr;

lock_table* table_now() noexcept {
  return lock_statistics.table.load(platform::acquire);
}

// Adds to a counter of several threads. Release: a thread that reads the amount here no longer sees
// it at its source.
void add(counter& sum, std::uint64_t amount) noexcept {
  if (amount != 0) sum.fetch_add(amount, platform::release);
}

// Adds to a counter that one thread at a time writes.
void add_own(counter& sum, std::uint64_t amount) noexcept {
  sum.store(sum.load(platform::relaxed) + amount, platform::release);
}

void raise(counter& longest, std::uint64_t nanoseconds) noexcept {
  std::uint64_t known = longest.load(platform::relaxed);
  while (known < nanoseconds &&
         !longest.compare_exchange_weak(known, nanoseconds, platform::relaxed)) {
  }
}

struct counts {
  std::uint64_t passive_reads;
  std::uint64_t active_reads;
  std::uint64_t writes;
};

void add_to_entry(lock_table& table, std::uintptr_t lock, counts amount) noexcept {
  lock_entry& entry = table.entries[entry_of(table, lock)];
  add(entry.passive_reads, amount.passive_reads);
  add(entry.active_reads, amount.active_reads);
  add(entry.writes, amount.writes);
}

void empty_cell(lock_table& table, tally_cells::cell& cell) noexcept {
  const std::uintptr_t lock = cell.lock.load(platform::relaxed);
  if (lock == 0) return;
  const counts amount{cell.passive_reads.load(platform::relaxed),
                      cell.active_reads.load(platform::relaxed),
                      cell.writes.load(platform::relaxed)};
  cell.lock.store(0, platform::relaxed);
  cell.passive_reads.store(0, platform::release);
  cell.active_reads.store(0, platform::release);
  cell.writes.store(0, platform::release);
  add_to_entry(table, lock, amount);
}

tally_cells* cells_of_this_thread() noexcept {
  if (own_cells != nullptr) return own_cells;
  tally_cells* const first = lock_statistics.cells.load(platform::acquire);
  for (tally_cells* left = first; left != nullptr; left = left->next.load(platform::relaxed)) {
    // Acquire pairs with the release in flush_tallies(): the last owner no longer uses them.
    if (left->owned.load(platform::relaxed) == 0 &&
        left->owned.exchange(1, platform::acquire) == 0) {
      return own_cells = left;
    }
  }
  auto* fresh = static_cast<tally_cells*>(platform::map_pages(sizeof(tally_cells)));
  if (fresh == nullptr) return nullptr;
  fresh->owned.store(1, platform::relaxed);
  tally_cells* head = first;
  do {
    fresh->next.store(head, platform::relaxed);
  } while (!lock_statistics.cells.compare_exchange_weak(head, fresh, platform::acq_rel,
                                                        platform::acquire));
  return own_cells = fresh;
}

using cell_set = tally_cells::cell (&)[tally_cells::ways];

cell_set set_of(tally_cells& cells, std::uintptr_t lock) noexcept {
  constexpr unsigned shift = 64 - std::bit_width(tally_cells::sets - 1);
  // Uses other bits than the choice of the slot, so that locks of one slot find different sets.
  return cells.cells[(scattered(lock) << 3) >> shift];
}

[[gnu::noinline]] tally_cells::cell* make_cell(std::uintptr_t lock) noexcept {
  tally_cells* const mine = cells_of_this_thread();
  if (mine == nullptr) return nullptr;
  cell_set set = set_of(*mine, lock);
  for (auto& cell : set) {
    if (cell.lock.load(platform::relaxed) != 0) continue;
    cell.lock.store(lock, platform::release);
    return &cell;
  }
  auto& victim = set[mine->evictions++ % tally_cells::ways];
  empty_cell(*table_now(), victim);
  victim.lock.store(lock, platform::release);
  return &victim;
}

// entry_of() with a cache of one entry.
inline std::size_t entry_again(lock_table& table, std::uintptr_t lock) noexcept {
  if (last_lock != lock) [[unlikely]] {
    last_entry = entry_of(table, lock);
    last_lock = lock;
  }
  return last_entry;
}

// The calling thread's cell for the lock; null without memory.
inline tally_cells::cell* cell_of(std::uintptr_t lock) noexcept {
  if (own_cells != nullptr) [[likely]] {
    for (auto& cell : set_of(*own_cells, lock)) {
      if (cell.lock.load(platform::relaxed) == lock) return &cell;
    }
  }
  return make_cell(lock);
}

inline void count_apart(std::uintptr_t lock, counts amount) noexcept {
  tally_cells::cell* const cell = cell_of(lock);
  if (cell == nullptr) [[unlikely]] {
    add_to_entry(*table_now(), lock, amount);
    return;
  }
  if (amount.passive_reads != 0) add_own(cell->passive_reads, amount.passive_reads);
  if (amount.active_reads != 0) add_own(cell->active_reads, amount.active_reads);
  if (amount.writes != 0) add_own(cell->writes, amount.writes);
}

// From now on, the record's counts for the slot belong to the lock.
void start_tally(thread_record& record, std::size_t slot, std::uintptr_t lock) noexcept {
  tally& t = record.tallies[slot];
  t.reads_before.store(record.reads[slot].load(platform::relaxed), platform::release);
  t.active_before.store(record.active_reads[slot].load(platform::relaxed), platform::release);
  t.writes.store(0, platform::release);
  t.lock.store(lock, platform::release);
}

// Gives the tally of a slot to another lock, and passes the old lock's counts to `keep`.
template <class Keep>
void turn_over(thread_record& me, std::size_t slot, std::uintptr_t next, Keep keep) noexcept {
  tally& t = me.tallies[slot];
  const std::uintptr_t last = t.lock.load(platform::relaxed);
  const counts amount{
      me.reads[slot].load(platform::relaxed) - t.reads_before.load(platform::relaxed),
      me.active_reads[slot].load(platform::relaxed) - t.active_before.load(platform::relaxed),
      t.writes.load(platform::relaxed)};
  t.lock.store(0, platform::release);
  if (last != 0) keep(last, amount);
  start_tally(me, slot, next);
}

}  // namespace

std::size_t entry_of(lock_table& table, std::uintptr_t lock) noexcept {
  constexpr unsigned shift = 64 - std::bit_width(lock_table::places_count - 1);
  std::size_t place = scattered(lock) >> shift;
  std::uint32_t fresh = 0;
  for (;;) {
    std::uint32_t number = table.places[place].load(platform::acquire);
    if (number == 0) {
      if (fresh == 0) {
        if (table.used.load(platform::relaxed) >= lock_table::capacity) return lock_table::others;
        fresh = table.used.fetch_add(1, platform::acq_rel) + 1;
        if (fresh > lock_table::capacity) return lock_table::others;
        table.entries[fresh - 1].lock.store(lock, platform::relaxed);
      }
      // Release: a thread that finds the number finds the entry filled.
      if (table.places[place].compare_exchange_strong(number, fresh, platform::acq_rel,
                                                      platform::acquire)) {
        return fresh - 1;
      }
    }
    if (table.entries[number - 1].lock.load(platform::relaxed) == lock) {
      // Another thread was faster; the new entry stays empty.
      if (fresh != 0) table.entries[fresh - 1].lock.store(0, platform::relaxed);
      return number - 1;
    }
    place = (place + 1) % lock_table::places_count;
  }
}

constinit platform::atomic<bool> lock_statistics_on_{false};
constinit lock_statistics_roots lock_statistics{};

void enable_lock_statistics(bool backtraces) noexcept {
  if (backtraces) backtraces_wanted.store(true, platform::relaxed);
  if (table_now() == nullptr) {
    auto* fresh = static_cast<lock_table*>(platform::map_pages(sizeof(lock_table)));
    lock_table* expected = nullptr;
    if (fresh == nullptr ||
        !lock_statistics.table.compare_exchange_strong(expected, fresh, platform::acq_rel)) {
      return;
    }
  }
  // Begins with the locks that slots hold, or held last, at this moment.
  for_each_domain([](domain& d) {
    for_each_record(d, [](thread_record& record, bool) {
      for (std::size_t slot = 0; slot < held_slots; ++slot) {
        const std::uintptr_t held = record.held[slot].load(platform::relaxed);
        const std::uintptr_t lock = held & ~(held_active | held_free);
        if (lock == 0 || home_slot(lock) != slot) continue;
        start_tally(record, slot, lock);
      }
    });
  });
  lock_statistics_on_.store(true, platform::release);
}

void note_meeting(std::uintptr_t lock) noexcept {
  lock_table* const table = table_now();
  if (table == nullptr) return;
  const std::size_t number = entry_of(*table, lock);
  table->entries[number].incarnations.fetch_add(1, platform::relaxed);
  if (!backtraces_wanted.load(platform::relaxed) || number == lock_table::others) return;
  std::uintptr_t frames[lock_origin::capacity]{};
  platform::backtrace(frames, lock_origin::capacity);
  for (std::size_t i = 0; i < lock_origin::capacity; ++i) {
    table->origins[number].frames[i].store(frames[i], platform::relaxed);
  }
}

void note_read(thread_record& me, std::size_t slot, std::uintptr_t lock, bool passive) noexcept {
  const bool at_home = slot == home_slot(lock);
  const std::uintptr_t held = at_home ? me.held[slot].load(platform::relaxed) : 0;
  const std::uintptr_t occupant = held & ~(held_active | held_free);
  if (!at_home || (!is_free(held) && occupant != lock)) {
    count_apart(lock, {passive ? 1U : 0U, passive ? 0U : 1U, 0});
    return;
  }
  if (me.tallies[slot].lock.load(platform::relaxed) == lock) return;
  turn_over(me, slot, lock, count_apart);
  // The slot's last lock has to claim the tally again before its reads count by this slot.
  if (occupant != lock) me.held[slot].store(0, platform::release);
}

bool take_slot(thread_record& me, std::uintptr_t lock) noexcept {
  const std::size_t slot = home_slot(lock);
  if (!is_free(me.held[slot].load(platform::relaxed))) return false;
  if (me.tallies[slot].lock.load(platform::relaxed) != lock) {
    turn_over(me, slot, lock, count_apart);
  }
  me.held[slot].store(lock | held_free, platform::release);
  return true;
}

void note_write(thread_record& me, std::uintptr_t lock) noexcept {
  tally& t = me.tallies[home_slot(lock)];
  counter* writes = &t.writes;
  if (t.lock.load(platform::relaxed) != lock) {
    tally_cells::cell* const cell = cell_of(lock);
    if (cell == nullptr) {
      add_to_entry(*table_now(), lock, {0, 0, 1});
      return;
    }
    writes = &cell->writes;
  }
  const std::uint64_t before = writes->load(platform::relaxed);
  writes->store(before + 1, platform::relaxed);
  if (before % writes_between_timed == 0) {
    me.timed_lock = lock;
    me.timed_since = platform::now();
  }
}

void end_timed_write(thread_record& me) noexcept {
  lock_table* const table = table_now();
  if (table == nullptr) return;
  raise(table->entries[entry_again(*table, me.timed_lock)].longest_write,
        platform::now() - me.timed_since);
  me.timed_lock = 0;
}

void note_wait(std::uintptr_t lock, bool writer, std::uint64_t nanoseconds) noexcept {
  lock_table* const table = table_now();
  if (table == nullptr) return;
  const std::size_t number = entry_again(*table, lock);
  lock_waits& waits = table->waits[number];
  wait_histogram& histogram = writer ? waits.writers : waits.readers;
  histogram.waits[wait_histogram::step_of(nanoseconds)].fetch_add(1, platform::relaxed);
  histogram.total.fetch_add(nanoseconds, platform::relaxed);
  raise(histogram.longest, nanoseconds);
  auto& has_waits = table->entries[number].has_waits;
  if (!has_waits.load(platform::relaxed)) has_waits.store(true, platform::relaxed);
}

void note_revocation(std::uintptr_t lock, std::uint64_t nanoseconds, round_kind how) noexcept {
  lock_table* const table = table_now();
  if (table == nullptr) return;
  const std::size_t number = entry_again(*table, lock);
  lock_entry& entry = table->entries[number];
  counter& of_kind = entry.revocations[static_cast<std::size_t>(how)];
  if (number == lock_table::others) {
    add(of_kind, 1);
    add(entry.revoking, nanoseconds);
  } else {
    add_own(of_kind, 1);
    add_own(entry.revoking, nanoseconds);
  }
}

void note_drain(std::uintptr_t lock, std::uint64_t nanoseconds) noexcept {
  lock_table* const table = table_now();
  if (table == nullptr) return;
  raise(table->entries[entry_again(*table, lock)].longest_drain, nanoseconds);
}

void flush_tallies(thread_record& me) noexcept {
  lock_table* const table = table_now();
  if (table == nullptr) return;
  me.timed_lock = 0;
  for (std::size_t slot = 0; slot < held_slots; ++slot) {
    turn_over(me, slot, 0,
              [&](std::uintptr_t last, counts amount) { add_to_entry(*table, last, amount); });
    if (is_free(me.held[slot].load(platform::relaxed))) {
      me.held[slot].store(0, platform::release);
    }
  }
  tally_cells* const mine = own_cells;
  if (mine == nullptr) return;
  own_cells = nullptr;
  for (auto& set : mine->cells) {
    for (auto& cell : set) empty_cell(*table, cell);
  }
  mine->owned.store(0, platform::release);
}

void forget_lock_statistics() noexcept {
  lock_table* const table = table_now();
  if (table == nullptr) return;
  for (std::size_t number = 0; number <= lock_table::capacity; ++number) {
    if (number >= table->entries_used() && number != lock_table::others) continue;
    const bool has_waits = table->entries[number].has_waits.load(platform::relaxed);
    const std::uintptr_t lock = table->entries[number].lock.load(platform::relaxed);
    __builtin_memset(static_cast<void*>(&table->entries[number]), 0, sizeof(lock_entry));
    table->entries[number].lock.store(lock, platform::relaxed);
    if (has_waits) {
      __builtin_memset(static_cast<void*>(&table->waits[number]), 0, sizeof(lock_waits));
    }
  }
  for (tally_cells* c = lock_statistics.cells.load(platform::relaxed); c != nullptr;
       c = c->next.load(platform::relaxed)) {
    __builtin_memset(static_cast<void*>(c->cells), 0, sizeof c->cells);
    if (c != own_cells) c->owned.store(0, platform::relaxed);
  }
  // forget_statistics() clears the counts; a tally keeps its lock.
  for_each_domain([](domain& d) {
    for_each_record(d, [](thread_record& record, bool) {
      for (std::size_t slot = 0; slot < held_slots; ++slot) {
        start_tally(record, slot, record.tallies[slot].lock.load(platform::relaxed));
      }
      record.timed_lock = 0;
    });
  });
}

}  // namespace readmost::detail
