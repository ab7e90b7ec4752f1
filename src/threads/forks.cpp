// The orders here have no letters, for the checker simulates no processes.
#include "threads/forks.hpp"

namespace readmost::detail {

namespace {

constinit platform::atomic<fork_part*> first_part{&domains_at_fork};
// Closed by a thread that forks. Two at a time would each close some of the gates that the other
// waits for, and leave them closed in its child.
constinit gate forking;

// Of the calling thread: how many forks it is in the middle of, of which all but the first are
// signal handlers'; and whether the first has the gate.
READMOST_THREAD_LOCAL std::uint32_t depth;
READMOST_THREAD_LOCAL bool has_gate;

template <class Visit>
void for_each_part(Visit visit) noexcept {
  for (fork_part* part = first_part.load(platform::acquire); part != nullptr;
       part = part->next.load(platform::acquire)) {
    visit(*part);
  }
}

void call(void (*function)()) noexcept {
  if (function != nullptr) function();
}

void before() noexcept {
  if (depth++ != 0) return;
  has_gate = forking.try_close();
  if (has_gate) for_each_part([](fork_part& part) { call(part.before); });
}

void in_parent() noexcept {
  if (--depth != 0 || !has_gate) return;
  for_each_part([](fork_part& part) { call(part.in_parent); });
  forking.open();
}

void in_child() noexcept {
  --depth;
  for_each_part([](fork_part& part) { call(part.in_child); });
  forking.open();
}

}  // namespace

void add_fork_part(fork_part& part) noexcept {
  static platform::atomic<std::uint32_t> watching{0};
  if (watching.exchange(1, platform::relaxed) == 0) {
    platform::watch_fork(before, in_parent, in_child);
  }
  platform::atomic<fork_part*>* end = &first_part;
  fork_part* known = nullptr;
  while (!end->compare_exchange_strong(known, &part, platform::release, platform::acquire) &&
         known != &part) {
    end = &known->next;
    known = nullptr;
  }
  part.is_watched.store(1, platform::relaxed);
}

}  // namespace readmost::detail
