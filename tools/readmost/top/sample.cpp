// SPDX-License-Identifier: Apache-2.0
#include "top/sample.hpp"

#include <algorithm>
#include <bit>
#include <vector>

namespace readmost::command {
namespace {

// A copy of an object of the process, whose atomics may only be read with load().
template <class T>
std::unique_ptr<T> copy_of(const top_target& target, const T* there) {
  auto here = std::make_unique<T>();
  target.read(there, *here);
  return here;
}

std::shared_ptr<const wait_counts> copied(const wait_histogram& histogram) {
  auto counts = std::make_shared<wait_counts>();
  counts->add(histogram);
  return counts;
}

void add_entries(const top_target& target, const lock_table& table, top_sample& sample) {
  const std::size_t capacity = lock_table::capacity;
  std::uint32_t used = 0;
  const top_target::piece header{&table.used, &used, sizeof used};
  target.read({&header, 1});
  const std::size_t count = std::min<std::size_t>(used, capacity);
  std::vector<lock_entry> entries(count);
  const top_target::piece all{&table.entries[0], entries.data(), count * sizeof(lock_entry)};
  if (count != 0) target.read({&all, 1});

  std::vector<std::size_t> waited;
  for (std::size_t i = 0; i < count; ++i) {
    if (entries[i].has_waits.load(platform::relaxed)) waited.push_back(i);
  }
  std::vector<lock_waits> waits(waited.size());
  std::vector<top_target::piece> pieces;
  for (std::size_t i = 0; i < waited.size(); ++i) {
    pieces.push_back({&table.waits[waited[i]], &waits[i], sizeof(lock_waits)});
  }
  target.read(pieces);

  for (const lock_entry& entry : entries) {
    const std::uintptr_t lock = entry.lock.load(platform::relaxed);
    if (lock == 0) continue;  // never used
    top_counts& counts = sample.locks[lock].counts;
    counts.passive_reads += entry.passive_reads.load(platform::relaxed);
    counts.active_reads += entry.active_reads.load(platform::relaxed);
    counts.writes += entry.writes.load(platform::relaxed);
    for (const auto& of_kind : entry.revocations) {
      counts.revocations += of_kind.load(platform::relaxed);
    }
  }
  for (std::size_t i = 0; i < waited.size(); ++i) {
    const std::uintptr_t address = entries[waited[i]].lock.load(platform::relaxed);
    if (address == 0) continue;
    top_lock& lock = sample.locks[address];
    lock.read_waits = copied(waits[i].readers);
    lock.write_waits = copied(waits[i].writers);
  }
}

void add_cells(const top_target& target, const tally_cells* first, top_sample& sample) {
  const auto add = [&sample](std::uintptr_t lock, std::uint64_t passive, std::uint64_t active,
                             std::uint64_t writes) {
    top_counts& counts = sample.locks[lock].counts;
    counts.passive_reads += passive;
    counts.active_reads += active;
    counts.writes += writes;
  };
  for (const tally_cells* next = first; next != nullptr;) {
    const auto cells = copy_of(target, next);
    for (const auto& set : cells->cells) {
      for (const auto& cell : set) visit_cell(cell, add);
    }
    next = cells->next.load(platform::relaxed);
  }
}

void add_records(const chunk& records, top_sample& sample) {
  sample.threads += static_cast<std::size_t>(std::popcount(records.used.load(platform::relaxed)));
  for (const thread_record& record : records.records) {
    for (const auto& reads : record.reads) {
      sample.all.passive_reads += reads.load(platform::relaxed);
    }
    sample.all.active_reads += active_reads_of(record);
    sample.all.writes += record.writes.load(platform::relaxed);
    sample.all.revocations += record.revocations.load(platform::relaxed);
  }
}

void add_records(const top_target& target, const domain& d, top_sample& sample) {
  for (const index_block* next = d.index.load(platform::relaxed); next != nullptr;) {
    const auto block = copy_of(target, next);
    for (const index_entry& entry : block->entries) {
      const chunk* const records = entry.records.load(platform::relaxed);
      if (records == nullptr) return;
      add_records(*copy_of(target, records), sample);
    }
    next = block->next.load(platform::relaxed);
  }
}

}  // namespace

void top_counts::raise_to(const top_counts& earlier) {
  passive_reads = std::max(passive_reads, earlier.passive_reads);
  active_reads = std::max(active_reads, earlier.active_reads);
  writes = std::max(writes, earlier.writes);
  revocations = std::max(revocations, earlier.revocations);
}

top_counts top_counts::since(const top_counts& earlier) const {
  return {passive_reads - earlier.passive_reads, active_reads - earlier.active_reads,
          writes - earlier.writes, revocations - earlier.revocations};
}

top_sample take_sample(top_target& target, const top_sample* earlier) {
  top_sample sample;
  const introspection& shown = target.shown();
  lock_statistics_roots roots;
  target.read(shown.statistics, roots);
  sample.at = std::chrono::steady_clock::now();
  sample.lock = shown.lock.load(platform::relaxed);
  const lock_table* const table = roots.table.load(platform::relaxed);
  sample.per_lock = table != nullptr;
  // Entries, then cells: the order in which nothing is found twice (lock_table.hpp).
  if (table != nullptr) {
    add_entries(target, *table, sample);
    add_cells(target, roots.cells.load(platform::relaxed), sample);
  }
  const std::unique_ptr<domain[]> all = std::make_unique<domain[]>(max_domains);
  const top_target::piece domains{shown.domains, all.get(), max_domains * sizeof(domain)};
  target.read({&domains, 1});
  for (unsigned number = 0; number < max_domains; ++number) {
    add_records(target, all[number], sample);
    sample.rounds_by_reports += all[number].rounds_by_reports.load(platform::relaxed);
    sample.rounds_by_membarrier += all[number].rounds_by_membarrier.load(platform::relaxed);
  }
  if (earlier == nullptr) return sample;
  sample.all.raise_to(earlier->all);
  sample.rounds_by_reports = std::max(sample.rounds_by_reports, earlier->rounds_by_reports);
  sample.rounds_by_membarrier =
      std::max(sample.rounds_by_membarrier, earlier->rounds_by_membarrier);
  for (auto& [lock, figures] : sample.locks) {
    const auto before = earlier->locks.find(lock);
    if (before != earlier->locks.end()) figures.counts.raise_to(before->second.counts);
  }
  return sample;
}

}  // namespace readmost::command
