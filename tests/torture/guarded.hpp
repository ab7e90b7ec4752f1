// Data that shows whether a lock kept its promise: eight words on cache lines of their own, equal
// whenever nobody writes. A writer changes them one after another, so whoever is inside together
// with a writer sees them unequal or sees them change.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "session.hpp"

namespace torture {

class guarded_words {
 public:
  // Relaxed atomics cost what plain words cost, and keep a run on a broken lock well defined.
  struct alignas(64) word {
    std::atomic<std::uint64_t> value{first_value};
  };

  // Looks twice with `meanwhile` in between, since a writer may come in after the first look.
  template <class Action>
  void examine(worker& me, Action meanwhile) const {
    const std::uint64_t before = look(me);
    meanwhile();
    if (look(me) != before) me.violation("the words changed while a reader held the lock");
  }

  // How often they were changed; for those who hold the lock.
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
  // Never a value of poisoned or zeroed memory.
  static constexpr std::uint64_t first_value = 0x0123456700000000U;
  static constexpr std::uint64_t values_mask = 0xffffffffU;

  std::uint64_t look(worker& me) const {
    // From the last to the first: a reader who follows on a writer's heels still sees a difference.
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

// A lock and what it guards.
template <class Lock>
struct cell {
  Lock lock;
  guarded_words data;
};

}  // namespace torture
