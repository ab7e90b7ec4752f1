// SPDX-License-Identifier: Apache-2.0
#include "statistics/statistics.hpp"

#include "statistics/lock_statistics.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// The counts of a lock that move from threads to its entry.
struct moving_counts {
  std::uint64_t passive_reads;
  std::uint64_t active_reads;
  std::uint64_t writes;

  void add(std::uint64_t passive, std::uint64_t active, std::uint64_t written) noexcept {
    passive_reads += passive;
    active_reads += active;
    writes += written;
  }
  void raise_to(const moving_counts& other) noexcept {
    if (passive_reads < other.passive_reads) passive_reads = other.passive_reads;
    if (active_reads < other.active_reads) active_reads = other.active_reads;
    if (writes < other.writes) writes = other.writes;
  }
  std::uint64_t operations() const noexcept { return passive_reads + active_reads + writes; }
};

struct all_counts {
  moving_counts of[lock_table::capacity + 1];
  moving_counts known[lock_table::capacity + 1];
};

// Reads in the order that counts no operation twice: see lock_table.hpp.
void count_all(lock_table& table, moving_counts* sums) noexcept {
  for (std::size_t number = 0; number <= lock_table::capacity; ++number) {
    if (number >= table.entries_used() && number != lock_table::others) continue;
    const lock_entry& entry = table.entries[number];
    sums[number] = {entry.passive_reads.load(platform::acquire),
                    entry.active_reads.load(platform::acquire),
                    entry.writes.load(platform::acquire)};
  }
  for_each_live_count(
      [&](std::uintptr_t lock, std::uint64_t passive, std::uint64_t active, std::uint64_t writes) {
        sums[entry_of(table, lock)].add(passive, active, writes);
      });
}

// The sum of several locks' figures.
struct sum {
  lock_figures figures{};
  wait_counts readers{};
  wait_counts writers{};

  void add(const lock_table& table, std::size_t number, const moving_counts& counts) noexcept {
    figures.add_events(table.entries[number]);
    figures.passive_reads += counts.passive_reads;
    figures.active_reads += counts.active_reads;
    figures.writes += counts.writes;
    readers.add(table.waits[number].readers);
    writers.add(table.waits[number].writers);
  }

  lock_figures complete() noexcept {
    figures.read_waits = figures_of(readers);
    figures.write_waits = figures_of(writers);
    return figures;
  }
};

// The entry with most operations; `others` when there are none.
std::size_t hottest_of(const lock_table& table, const moving_counts* counts) noexcept {
  std::size_t best = lock_table::others;
  std::uint64_t most = 0;
  for (std::size_t number = 0; number < table.entries_used(); ++number) {
    if (counts[number].operations() > most) {
      best = number;
      most = counts[number].operations();
    }
  }
  return best;
}

void forget_statistics() noexcept {
  for_each_domain([](domain& d) {
    for_each_record(d, [](thread_record& record, bool) {
      for (std::size_t slot = 0; slot < home_slots; ++slot) {
        record.reads[slot].store(0, platform::relaxed);
        record.credited[slot] = 0;
      }
      record.active_reads.store(0, platform::relaxed);
      record.account_period.store(record.until_account.load(platform::relaxed), platform::relaxed);
      record.writes.store(0, platform::relaxed);
      record.revocations.store(0, platform::relaxed);
      record.locks_met.store(0, platform::relaxed);
    });
    d.locks_met.store(0, platform::relaxed);
    d.rounds_by_reports.store(0, platform::relaxed);
    d.rounds_by_membarrier.store(0, platform::relaxed);
  });
  forget_lock_statistics();
}

}  // namespace

constinit part statistics_part{.on_departure =
                                   [](thread_record&) {
                                     if (lock_statistics_on()) give_cells_back();
                                   },
                               .in_child = forget_statistics};

statistics collect_statistics() noexcept {
  statistics sum{};
  sum.membarrier = membarrier_works();
  for_each_domain([&](domain& d) {
    sum.locks += d.locks_met.load(platform::relaxed);
    for_each_record(d, [&](const thread_record& record, bool) {
      for (std::size_t slot = 0; slot < home_slots; ++slot) {
        sum.passive_reads += record.reads[slot].load(platform::relaxed);
      }
      sum.active_reads += active_reads_of(record);
      sum.writes += record.writes.load(platform::relaxed);
      sum.revocations += record.revocations.load(platform::relaxed);
      sum.locks += record.locks_met.load(platform::relaxed);
    });
    sum.rounds_by_reports += d.rounds_by_reports.load(platform::relaxed);
    sum.rounds_by_membarrier += d.rounds_by_membarrier.load(platform::relaxed);
  });
  return sum;
}

bool survey_locks(lock_survey& survey) noexcept {
  static constinit all_counts* scratch = nullptr;
  lock_table* const table = lock_statistics.table.load(platform::acquire);
  if (scratch == nullptr) {
    scratch = static_cast<all_counts*>(platform::map_pages(sizeof(all_counts)));
  }
  if (table == nullptr || scratch == nullptr) return false;
  // Two passes: counts in transit to an entry during the first have arrived in the second.
  count_all(*table, scratch->known);
  count_all(*table, scratch->of);
  const std::size_t used = table->entries_used();
  for (std::size_t number = 0; number < used; ++number) {
    scratch->of[number].raise_to(scratch->known[number]);
  }

  survey = {};
  for (; survey.count < lock_survey::most; ++survey.count) {
    const std::size_t number = hottest_of(*table, scratch->of);
    if (number == lock_table::others) break;
    sum one;
    one.add(*table, number, scratch->of[number]);
    one.figures.lock = table->entries[number].lock.load(platform::relaxed);
    survey.hottest[survey.count] = one.complete();
    scratch->of[number] = {};  // excluded from the next search
  }
  sum rest;
  for (std::size_t number = 0; number <= lock_table::capacity; ++number) {
    if ((number >= used && number != lock_table::others) || scratch->of[number].operations() == 0) {
      continue;
    }
    ++survey.other_locks;
    rest.add(*table, number, scratch->of[number]);
  }
  survey.others = rest.complete();
  return true;
}

}  // namespace readmost::detail
