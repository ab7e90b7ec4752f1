// SPDX-License-Identifier: Apache-2.0
// Statistics of all locks since the process started.
#pragma once

#include "statistics/lock_figures.hpp"

namespace readmost::detail {

struct statistics {
  bool membarrier;  // false: passive holds are fenced here
  std::uint64_t locks;
  std::uint64_t passive_reads;
  std::uint64_t active_reads;
  std::uint64_t writes;
  std::uint64_t revocations;
  std::uint64_t rounds_by_reports;
  std::uint64_t rounds_by_membarrier;
};

// Sums over all threads, dead ones included. Counts of running threads may lag by a few operations.
statistics collect_statistics() noexcept;

// The locks with most reads and writes, hottest first, and the sum of all others.
struct lock_survey {
  static constexpr std::size_t most = 10;
  std::size_t count;
  lock_figures hottest[most];
  std::size_t other_locks;  // addresses; more when the table was full
  lock_figures others;
};

// Returns false without statistics per lock or without memory. At most one thread may call it at a
// time.
bool survey_locks(lock_survey& survey) noexcept;

}  // namespace readmost::detail
