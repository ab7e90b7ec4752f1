#include "lock_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "statistics/lock_names.hpp"

namespace readmost::command {
namespace {

constexpr std::string_view every_lock = "all";

bool is_lock(const std::string& name) {
  return std::ranges::find(detail::lock_names, name) != detail::lock_names.end();
}

}  // namespace

const char* const list_of_other_locks =
    R"(  ba, pf-t         phase-fair, on queues and on tickets (Brandenburg and Anderson)
  per-cpu          an array of ba, one for each CPU
  cohort-rw        readers counted by NUMA node (C-RW-WP); RIVALS_NODES=n plays n nodes
  brlock           Linux 2.4's big-reader lock: a small lock for each CPU
  brlock-flags     the same with a flag for each reader
  rmlock           FreeBSD's read-mostly lock
  percpu-rwlock    Linux's per-CPU semaphore, whose writer waits for a grace period
  c-snzi           readers counted in a tree that a writer can close
  tlrw             a byte for each reader (TLRW)
  stamped          Java's StampedLock
  bravo-pthread    BRAVO over glibc's lock
  bravo-ba         ... over ba; bravo-prwlock: over prwlock; bravo-mutex: over glibc's mutex
  bravo-consensus  bravo-pthread whose readers execute no atomic instruction
A program that asks of them what they have not may hang: see docs/pthread-contract.md.
)";

std::string check_lock(const std::string& name) {
  if (is_lock(name)) return "";
  return fmt::format("there is no lock '{}'; the locks are {}", name,
                     fmt::join(detail::lock_names, ", "));
}

std::string check_compared_lock(const std::string& name) {
  if (name == without_library || name == every_lock || is_lock(name)) return "";
  return fmt::format("there is no lock '{}'; the locks are {}, {}, or {}", name, without_library,
                     fmt::join(detail::lock_names, ", "), every_lock);
}

std::vector<std::string> all_spelled_out(const std::vector<std::string>& locks) {
  std::vector<std::string> result;
  for (const std::string& lock : locks) {
    if (lock == every_lock) {
      result.emplace_back(without_library);
      result.insert(result.end(), detail::lock_names.begin(), detail::lock_names.end());
    } else {
      result.push_back(lock);
    }
  }
  return result;
}

}  // namespace readmost::command
