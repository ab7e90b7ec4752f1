// SPDX-License-Identifier: Apache-2.0
// The statistics of one lock as plain numbers, for reports inside and outside the process.
#pragma once

#include "statistics/lock_table.hpp"

namespace readmost::detail {

// A copy of a wait_histogram, a sum of several, or the difference of two.
struct wait_counts {
  std::uint64_t waits[wait_histogram::steps]{};
  std::uint64_t total{};
  std::uint64_t longest{};

  void add(const wait_histogram& more) noexcept;
};

// In nanoseconds. Percentiles are the upper ends of steps of a quarter of an octave, so up to a
// quarter above the measured value.
struct wait_figures {
  std::uint64_t count;
  std::uint64_t total;
  std::uint64_t p50;
  std::uint64_t p99;
  std::uint64_t longest;
};
wait_figures figures_of(const wait_counts& counts) noexcept;

struct lock_figures {
  std::uintptr_t lock;
  std::uint64_t incarnations;
  std::uint64_t passive_reads;
  std::uint64_t active_reads;
  std::uint64_t writes;
  std::uint64_t revocations[3];  // by round_kind
  std::uint64_t revoking;
  std::uint64_t longest_write;
  std::uint64_t longest_drain;
  wait_figures read_waits;
  wait_figures write_waits;

  std::uint64_t reads() const noexcept { return passive_reads + active_reads; }
  std::uint64_t operations() const noexcept { return reads() + writes; }
  std::uint64_t all_revocations() const noexcept {
    return revocations[0] + revocations[1] + revocations[2];
  }
  // The share of reads that found the lock biased: 0 to 100.
  double biased_percent() const noexcept {
    return reads() == 0 ? 0
                        : 100.0 * static_cast<double>(passive_reads) / static_cast<double>(reads());
  }

  // Adds all figures of an entry except reads and writes, some of which may still be in threads'
  // cells.
  void add_events(const lock_entry& entry) noexcept;
};

// 1234 as "1.2 us".
struct duration_text {
  char text[32];
};
duration_text as_duration(std::uint64_t nanoseconds) noexcept;

// What can be done about long waits, which depends on whom the lock prefers.
struct wait_remedies {
  const char* of_readers;
  const char* of_writers;
};

// Returns an interpretation of the figures: "read-mostly: biased 99.8% of the time". `nanoseconds`:
// how long the process has been running.
struct verdict {
  char text[200];
};
verdict verdict_on(const lock_figures& figures, std::uint64_t nanoseconds,
                   const wait_remedies& remedies) noexcept;

}  // namespace readmost::detail
