// SPDX-License-Identifier: Apache-2.0
#include "lock/absence.hpp"

#include "lock/lock_places.hpp"
#include "threads/parts.hpp"

namespace readmost::detail::absence {

namespace {

constinit lock_places<platform::atomic<std::uint32_t>> away;

}  // namespace

std::uint64_t begin(const rwlock& lock) noexcept {
  const std::uint64_t others = away[lock].fetch_add(1, platform::relaxed);
  const std::uint64_t time = shortest + shortest * others / platform::usable_cpus();
  return time < longest ? time : longest;
}

// A handler that interrupts an absence may fork, and the child has forgotten it then.
void end(const rwlock& lock) noexcept {
  auto& count = away[lock];
  std::uint32_t others = count.load(platform::relaxed);
  while (others != 0 &&
         !count.compare_exchange_weak(others, others - 1, platform::relaxed, platform::relaxed)) {
  }
}

void forget_all() noexcept {
  for (auto& count : away) clear_where_set(count);
}

}  // namespace readmost::detail::absence
