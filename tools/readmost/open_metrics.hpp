// SPDX-License-Identifier: Apache-2.0
// Statistics in the text format of OpenMetrics 1.0, which Prometheus and others read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace readmost::command {

struct wait_metrics {
  std::uint64_t count = 0;
  double seconds = 0;
  double p50 = 0;
  double p99 = 0;
  double longest = 0;
};

// Of one lock, or of several together. What the source does not know is left out.
struct lock_metrics {
  std::string address;  // "0x..."; "others" for the rest
  std::string place;
  std::uint64_t passive_reads = 0;
  std::uint64_t active_reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t revocations = 0;
  std::optional<double> revoking_seconds;
  std::optional<double> longest_write_seconds;
  std::optional<double> longest_drain_seconds;
  wait_metrics readers;
  wait_metrics writers;
};

struct process_metrics {
  std::string program;
  int process = 0;
  std::string version;
  std::string lock;  // the name of the server of locks
  std::optional<double> seconds;
  std::optional<std::uint64_t> threads;
  std::optional<std::uint64_t> locks_used;
  std::uint64_t passive_reads = 0;
  std::uint64_t active_reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t revocations = 0;
  std::uint64_t rounds_by_reports = 0;
  std::uint64_t rounds_by_membarrier = 0;
  std::vector<lock_metrics> locks;
};

std::string as_open_metrics(const std::vector<process_metrics>& processes);

// What the library has written as JSON, a line for each process; a line that is cut is left out.
std::vector<process_metrics> metrics_in_json(const std::string& lines);

}  // namespace readmost::command
