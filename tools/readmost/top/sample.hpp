// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <unordered_map>

#include "statistics/lock_figures.hpp"
#include "top/target.hpp"

namespace readmost::command {

// The operations of one lock, or of all locks of a process, up to a moment.
struct top_counts {
  std::uint64_t passive_reads = 0;
  std::uint64_t active_reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t revocations = 0;

  // Corrects counts that seem to fall, because they were moving from a thread to the lock's entry.
  void raise_to(const top_counts& earlier);
  top_counts since(const top_counts& earlier) const;
  std::uint64_t operations() const { return passive_reads + active_reads + writes; }
};

struct top_lock {
  top_counts counts;
  // Null before the first wait.
  std::shared_ptr<const wait_counts> read_waits;
  std::shared_ptr<const wait_counts> write_waits;
};

struct top_sample {
  std::chrono::steady_clock::time_point at;
  lock_choice lock = lock_choice::prwlock;
  bool per_lock = false;  // false: the program was started without statistics
  std::size_t threads = 0;
  std::uint64_t rounds_by_reports = 0;
  std::uint64_t rounds_by_membarrier = 0;
  top_counts all;
  std::unordered_map<std::uintptr_t, top_lock> locks;
};

// `earlier`: the previous sample, below whose counts this one does not fall; null for the first.
top_sample take_sample(top_target& target, const top_sample* earlier);

}  // namespace readmost::command
