// SPDX-License-Identifier: Apache-2.0
// Data that reveals a broken lock: eight words on separate cache lines, equal whenever no writer is
// active. A writer changes them one after another, so any thread that is in a section at the same
// time as a writer sees them unequal or sees them change.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "session.hpp"

namespace torture {

class guarded_words {
 public:
  // Relaxed atomics cost as much as plain words and keep a run on a broken lock well defined.
  struct alignas(64) word {
    std::atomic<std::uint64_t> value{first_value};
  };

  // Checks twice with `meanwhile` in between, since a writer may enter after the first check.
  template <class Action>
  void examine(worker& me, Action meanwhile) const {
    const std::uint64_t before = look(me);
    meanwhile();
    if (look(me) != before) me.violation("the words changed while a reader held the lock");
  }

  // The number of changes so far; the caller holds the lock.
  std::uint64_t changes() const {
    return words_.back().value.load(std::memory_order_relaxed) - first_value;
  }

  void change(worker& me, unsigned turns_between_words) {
    const std::uint64_t old = words_[0].value.load(std::memory_order_relaxed);
    for (word& one : words_) {
      if (one.value.load(std::memory_order_relaxed) != old)
        me.violation("a writer found a change in progress");
      one.value.store(old + 1, std::memory_order_relaxed);
      spin(turns_between_words);
    }
    if (look(me) != old + 1) me.violation("a writer's change was overwritten at once");
  }

 private:
  // Differs from every value of poisoned or zeroed memory.
  static constexpr std::uint64_t first_value = 0x0123456700000000U;
  static constexpr std::uint64_t values_mask = 0xffffffffU;

  std::uint64_t look(worker& me) const {
    // From the last to the first: a reader that reads right behind the writer still sees a
    // difference.
    const std::uint64_t last = words_.back().value.load(std::memory_order_relaxed);
    for (auto one = words_.rbegin(); one != words_.rend(); ++one) {
      if (one->value.load(std::memory_order_relaxed) != last) {
        me.violation("the words differ: a change is in progress");
        break;
      }
    }
    if ((last & ~values_mask) != first_value) me.violation("the words are gone: freed memory");
    return last;
  }

  std::array<word, 8> words_;
};

// A lock and the data it guards.
template <class Lock>
struct cell {
  Lock lock;
  guarded_words data;
};

}  // namespace torture
