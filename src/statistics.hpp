// What the domain did since the process started.
#pragma once

#include <cstdint>

namespace readmost {

struct statistics {
  bool membarrier;  // false: no thread can lock passively here
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

}  // namespace readmost
