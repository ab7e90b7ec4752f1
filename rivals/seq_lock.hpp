// SPDX-License-Identifier: Apache-2.0
// The sequence lock: readers read, and read again if a writer has written meanwhile.
//
// Source: Linux include/linux/seqlock.h (S. Hemminger, 2003); Boehm, Can Seqlocks Get Along With
// Programming Language Memory Models?, MSPC 2012, for the orders.
//
// A writer makes the number odd before it writes and even afterwards. A reader notes an even
// number, reads the data, and has read a consistent state if the number is still the same. It
// writes nothing.
//
// Not a reader-writer lock: readers may see data half written before they know, so the data is
// `sequenced` (sequenced.hpp), and objects to which they may follow pointers must not be freed.
//
// Reader: two loads, and again for each writer that comes in between; a writer that never rests
// starves it. Writer: one compare-and-swap and one store. Size: 4 bytes.
#pragma once

#include "rivals/sequenced.hpp"
#include "rivals/spin.hpp"

namespace rivals {

class seq_lock : immovable<seq_lock> {
 public:
  // Returns the result of the last call of look(), during which nothing was written. Earlier calls
  // may have read any mixture of old and new values.
  template <class Look>
  auto read(Look look) const noexcept(noexcept(look())) {
    for (;;) {
      const std::uint32_t before = begin();
      const auto found = look();
      if (!is_over(before)) return found;
    }
  }

  // The two halves of read(): the number once it is even, and whether it has changed since.
  std::uint32_t begin() const noexcept {
    std::uint32_t number = 0;
    wait_until([&] {
      number = number_.load(platform::acquire);
      return number % 2 == 0;
    });
    return number;
  }
  bool is_over(std::uint32_t begun_at) const noexcept {
    return number_.load(platform::relaxed) != begun_at;
  }

  void lock() noexcept {
    wait_until([this] { return try_lock(); });
  }
  bool try_lock() noexcept {
    std::uint32_t number = number_.load(platform::relaxed);
    return number % 2 == 0 && number_.compare_exchange_strong(number, number + 1, platform::acquire,
                                                              platform::relaxed);
  }
  void unlock() noexcept { number_.store(number_.load(platform::relaxed) + 1, platform::release); }

 private:
  platform::atomic<std::uint32_t> number_{0};
};

}  // namespace rivals
