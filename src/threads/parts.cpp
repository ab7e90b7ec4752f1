// SPDX-License-Identifier: Apache-2.0
// The orders here have no letters: parts are constant except for their links, and the checker
// simulates no processes.
#include "threads/parts.hpp"

namespace readmost::detail {

namespace {

constinit platform::atomic<std::uint32_t> watching_forks{0};
// Closed by a thread that forks. Two at a time would each close some of the gates that the other
// waits for, and leave them closed in its child.
constinit gate forking;

// The number of forks that the calling thread is executing: all but the first come from signal
// handlers. The flag tells whether the first has closed the gate.
READMOST_THREAD_LOCAL std::uint32_t depth;
READMOST_THREAD_LOCAL bool has_gate;

void before_fork() noexcept {
  if (depth++ != 0) return;
  has_gate = forking.try_close();
  if (has_gate) call_parts(&part::before_fork);
}

void in_parent() noexcept {
  if (--depth != 0 || !has_gate) return;
  call_parts(&part::in_parent);
  forking.open();
}

void in_child() noexcept {
  --depth;
  call_parts(&part::in_child);
  forking.open();
}

READMOST_EARLY void watch_forks_early() noexcept {
  if constexpr (platform::forks) watch_forks();
}

}  // namespace

constinit platform::atomic<part*> first_added_part{};

void watch_forks() noexcept {
  if (watching_forks.exchange(1, platform::relaxed) != 0) return;
  platform::watch_fork(before_fork, in_parent, in_child);
}

void add_part(part& which) noexcept {
  if (which.is_added.load(platform::relaxed) != 0) return;
  watch_forks();
  platform::atomic<part*>* end = &first_added_part;
  part* known = nullptr;
  while (!end->compare_exchange_strong(known, &which, platform::release, platform::acquire) &&
         known != &which) {
    end = &known->next;
    known = nullptr;
  }
  which.is_added.store(1, platform::relaxed);
}

}  // namespace readmost::detail
