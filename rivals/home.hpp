// SPDX-License-Identifier: Apache-2.0
// Where a thread belongs. The papers' locks are for kernels, or for threads bound to CPUs, and ask
// which CPU they are on at lock and unlock alike. Here a thread may move in between, so it asks
// once: it has a number, as small as possible and reused after its exit, and a place, its number
// modulo the number of CPUs, and it keeps both.
//
// Data of a number is written by one thread at a time, so it needs no atomic. Data of a place is
// shared when there are more threads than CPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <readmost/detail/threads/domain.hpp>

#include "rivals/memory.hpp"
#include "rivals/spin.hpp"

namespace rivals {

// --- Places -------------------------------------------------------------------------------------

namespace detail {
inline constinit platform::atomic<std::uint32_t> known_places{0};
}

// The CPUs that the process could use when this was first asked.
inline unsigned places() noexcept {
  unsigned count = detail::known_places.load(platform::relaxed);
  if (count == 0) {
    count = platform::usable_cpus();
    if (count == 0) count = 1;
    // The first thread decides, so that locks that two threads make at once have the same size.
    std::uint32_t known = 0;
    if (!detail::known_places.compare_exchange_strong(known, count, platform::relaxed,
                                                      platform::relaxed)) {
      count = known;
    }
  }
  return count;
}

// How many numbers have data of their own in a lock that keeps data by thread rather than by
// place: two for each CPU, so that some idle threads do no harm.
constexpr unsigned seats_for(unsigned cpus) noexcept {
  return (2 * cpus + 7) / 8 * 8;
}
inline unsigned seats() noexcept {
  return seats_for(places());
}

// --- The calling thread -------------------------------------------------------------------------

// A thread's note about a lock that it holds, for algorithms that give out a ticket at lock and
// need it at unlock. Free if `lock` is null.
struct hold {
  const void* lock;
  std::uintptr_t ticket;
};
struct hold_block {
  static constexpr std::size_t capacity = 8;
  hold holds[capacity];
  hold_block* next;
};

namespace detail {

struct thread_state {
  const readmost::detail::thread_record* record;  // whose number this is
  std::uint32_t number;
  std::uint32_t place;
  hold_block noted;
};

// One variable and no more: gcc does not keep apart several inline ones in the section that stands
// for thread-local storage under the checker.
inline constinit READMOST_THREAD_LOCAL thread_state own{};

}  // namespace detail

// The number of threads that exit, or that found no memory.
inline constexpr unsigned no_number = ~0U;

namespace detail {

[[gnu::noinline, gnu::cold]] inline bool settle() noexcept {
  const readmost::detail::thread_record* const me = readmost::detail::enlist();
  if (me == nullptr) return false;
  const auto number = static_cast<unsigned>(number_in_domain(*me));
  own.number = number;
  own.place = number % places();
  // Last, for a signal handler in between.
  platform::signal_fence();
  own.record = me;
  return true;
}

inline bool is_settled() noexcept {
  return own.record == &readmost::detail::my_record() || settle();
}

}  // namespace detail

// The calling thread's number. The first call takes part of a microsecond, later ones three loads.
// The numbers are those of the library's records of threads.
inline unsigned my_number() noexcept {
  return detail::is_settled() ? detail::own.number : no_number;
}

// The calling thread's place; threads without a number have the first.
inline unsigned home() noexcept {
  return detail::is_settled() ? detail::own.place : 0;
}

// --- Its notes ----------------------------------------------------------------------------------

// Notes a hold of the calling thread. Eight at a time need no memory.
inline void note(const void* lock, std::uintptr_t ticket) noexcept {
  for (hold_block* block = &detail::own.noted;; block = block->next) {
    for (hold& one : block->holds) {
      if (one.lock != nullptr) continue;
      one = {lock, ticket};
      return;
    }
    if (block->next == nullptr) {
      block->next = static_cast<hold_block*>(take_memory(sizeof(hold_block)));
    }
  }
}

// Whether the calling thread has noted a hold of that lock.
inline bool has_note(const void* lock) noexcept {
  for (const hold_block* block = &detail::own.noted; block != nullptr; block = block->next) {
    for (const hold& one : block->holds) {
      if (one.lock == lock) return true;
    }
  }
  return false;
}

// Removes a note of that lock and returns its ticket. Aborts the process if there is none: the
// thread unlocks a lock that it does not hold.
inline std::uintptr_t take_note(const void* lock) noexcept {
  hold_block* before = nullptr;
  for (hold_block* block = &detail::own.noted; block != nullptr; block = block->next) {
    std::uintptr_t ticket = 0;
    bool found = false;
    bool others = false;
    for (hold& one : block->holds) {
      if (!found && one.lock == lock) {
        found = true;
        ticket = one.ticket;
        one.lock = nullptr;
        if (before == nullptr) return ticket;
      }
      others = others || one.lock != nullptr;
    }
    if (found) {
      if (!others) {
        before->next = block->next;
        give_back(block, sizeof *block);
      }
      return ticket;
    }
    before = block;
  }
  std::abort();
}

// --- Data of a lock for each place, number or node ----------------------------------------------

// An array of Ts, each on cache lines of its own. Its length is chosen when it is made.
template <class T>
class spread_array : immovable<spread_array<T>> {
 public:
  explicit spread_array(unsigned count) noexcept
      : all_(static_cast<cell*>(take_memory(footprint(count)))), count_(count) {
    for (unsigned i = 0; i < count; ++i) new (&all_[i]) cell;
  }
  ~spread_array() {
    for (unsigned i = 0; i < count_; ++i) all_[i].~cell();
    give_back(all_, footprint(count_));
  }

  unsigned size() const noexcept { return count_; }
  T& operator[](unsigned i) noexcept { return all_[i].value; }
  const T& operator[](unsigned i) const noexcept { return all_[i].value; }

  static constexpr std::size_t footprint(unsigned count) noexcept { return count * sizeof(cell); }

 private:
  struct alignas(platform::cache_line) cell {
    T value{};
  };

  cell* all_;
  unsigned count_;
};

}  // namespace rivals
