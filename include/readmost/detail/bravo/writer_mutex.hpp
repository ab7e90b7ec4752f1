// A small mutex for writers among themselves: 4 bytes, blocks on a futex, not recursive, not fair.
// Without the standard library, which would throw.
#pragma once

#include <readmost/detail/threads/spinning.hpp>

namespace readmost::detail {

class writer_mutex {
 public:
  constexpr writer_mutex() noexcept = default;
  writer_mutex(const writer_mutex&) = delete;
  writer_mutex& operator=(const writer_mutex&) = delete;

  bool try_lock() noexcept {
    std::uint32_t expected = free;
    // (BR19) Pairs with (BR20): what the last owner did under it is over.
    return word_.compare_exchange_strong(expected, taken, at(letter::BR19, platform::acquire),
                                         platform::relaxed);
  }

  void lock() noexcept {
    lock_unless([] { return false; }, nullptr);
  }

  // Until `gives_up` says so, which is asked before each sleep; those take `slice` nanoseconds at
  // most, unless it is null.
  template <class GivesUp>
  bool lock_unless(GivesUp gives_up, const std::uint64_t* slice) noexcept {
    if (try_lock()) return true;
    if (spin_for_turns(spins,
                       [&] { return word_.load(platform::relaxed) == free && try_lock(); })) {
      return true;
    }
    go_offline();
    while (word_.exchange(contended, at(letter::BR19, platform::acquire)) != free) {
      if (gives_up()) return false;
      if (slice == nullptr) {
        platform::futex_wait(platform::futex_of(word_), contended, ~0U, nullptr);
      } else {
        const platform::deadline until = platform::in(*slice);
        platform::futex_wait(platform::futex_of(word_), contended, ~0U, &until);
      }
    }
    return true;
  }

  // Precondition: the calling thread has it.
  void unlock() noexcept {
    if (word_.exchange(free, at(letter::BR20, platform::release)) == contended) {
      platform::futex_wake(platform::futex_of(word_), 1, ~0U);
    }
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t taken = 1;
  static constexpr std::uint32_t contended = 2;  // somebody may sleep
  static constexpr std::uint32_t spins = 100;

  platform::atomic<std::uint32_t> word_{free};
};

}  // namespace readmost::detail
