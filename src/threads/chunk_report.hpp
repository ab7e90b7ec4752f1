// SPDX-License-Identifier: Apache-2.0
// Reports for whole chunks of records, where there are many CPUs.
//
// Problem. A round reads a line of each thread, one after the other: with hundreds of threads that
// takes longer than all of them need to report.
//
// Solution. In each chunk but the domain's first, one of the threads that have just reported looks
// at the other records of its chunk, and reports for the chunk which of them have reported while
// they held nothing. Rounds read that, one line, and leave those records out, while they look at
// the first chunk themselves. It only saves looks: a round visits every record that it does not
// find there, so nobody depends on the thread that reports for others.
#pragma once

#include <bit>
#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// A chunk is reported if at least this many of its threads are in the index: a round looks at fewer
// just as fast by itself. Tests lower it.
inline constinit std::uint32_t reported_from = 32;

// Whether one thread reports for a chunk that has these records in the index. Reads the chunk only
// if they are enough.
inline bool is_reported(const chunk& records, std::uint64_t present) noexcept {
  return static_cast<std::uint32_t>(std::popcount(present)) >= reported_from &&
         records.reports_as_one;
}

// The caller has just reported `version`. If it is the caller's turn, looks at up to 64 records, at
// most three times each. May run in a signal handler. Depends on nobody.
void report_for_chunk(const thread_record& me, std::uint64_t version) noexcept;

// Those of the records in `present` that have reported `version` or a later one while they held
// nothing. Waits a little if a thread is finding that out.
std::uint64_t settled_in(const chunk& records, std::uint64_t present,
                         std::uint64_t version) noexcept;

// Some hundred cycles, once the first of many threads has reported: a line that is fetched before
// its thread reports has to come twice.
void await_other_reports() noexcept;

// Whether `version` is that one or a later one.
inline bool is_as_new(std::uint64_t version, std::uint64_t as) noexcept {
  return static_cast<std::int64_t>(version - as) >= 0;
}

// Whether a report says that its thread held nothing, and had seen that version.
inline bool is_settled(std::uint64_t seen, std::uint64_t version) noexcept {
  return (seen & 1) == 0 && is_as_new(seen, version);
}

}  // namespace readmost::detail
