// SPDX-License-Identifier: Apache-2.0
// The version number of data that readers of RCU read in several steps (RCU 4.2.4), and the means
// by which a reader holds updates off (RCU 4.2.5).
//
// The number is even at rest and odd during an update. A reader that finds the same even number
// before and after has met no update. A reader that has failed too often adds itself to `stalls_`,
// then takes and releases the writers' mutex: the update under way is over by then, and whoever
// takes the mutex afterwards sees the stall and begins none. So the next attempt succeeds.
#pragma once

#include <mutex>
#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/mutex.hpp>

namespace readmost::detail {

class version {
 public:
  constexpr version() noexcept = default;
  version(const version&) = delete;
  version& operator=(const version&) = delete;

  // --- For readers

  // The number when no update is under way; waits until that is so.
  std::uint64_t number_at_rest() noexcept {
    for (;;) {
      // (RV1) Pairs with (RV4): the data as the last update left it, or a later one.
      const std::uint64_t now = number_.load(at(letter::RV1, platform::acquire));
      if (now % 2 == 0) [[likely]] {
        return now;
      }
      await_end_of(now);
    }
  }

  // Whether no update has begun since the number was `before`.
  bool is_still(std::uint64_t before) const noexcept {
    // (RV2) Pairs with (RV3): if any of the data read is of a later update, so is the number.
    platform::acquire_fence(letter::RV2);
    return number_.load(platform::relaxed) == before;
  }

  // From the return of hold_off() to let_on() no update is under way.
  [[gnu::noinline, gnu::cold]] void hold_off() noexcept {
    stalls_.fetch_add(1, platform::relaxed);
    await_writer();
  }
  [[gnu::noinline, gnu::cold]] void let_on() noexcept {
    // Relaxed: a writer that starts too early is noticed by its number.
    if (stalls_.fetch_sub(1, platform::relaxed) == 1) {
      platform::futex_wake(platform::futex_of(stalls_), every_sleeper, ~0U);
    }
  }

  // --- For writers

  // Waits for the update under way, and until no reader holds updates off.
  void begin_update() noexcept {
    writing_.lock();
    while (const std::uint32_t stalls = stalls_now()) {
      // Released, because readers that find an odd number, or hold updates off, wait for it.
      writing_.unlock();
      await_stalls(stalls);
      writing_.lock();
    }
    number_.store(number_.load(platform::relaxed) + 1, platform::relaxed);
    // (RV3) Pairs with (RV2).
    platform::release_fence(letter::RV3);
  }
  void end_update() noexcept {
    // (RV4) Pairs with (RV1).
    number_.store(number_.load(platform::relaxed) + 1, at(letter::RV4, platform::release));
    writing_.unlock();
  }

 private:
  static constexpr std::uint32_t spins = 100;
  static constexpr int every_sleeper = 0x7fff'ffff;

  std::uint32_t stalls_now() const noexcept {
    // Relaxed: the mutex orders it behind the fetch_add of hold_off().
    return is_mutant(mutant::stalls_ignored) ? 0 : stalls_.load(platform::relaxed);
  }

  // Returns when the update is over that the odd number belongs to.
  [[gnu::noinline, gnu::cold]] void await_end_of(std::uint64_t update) noexcept {
    // Most updates are so short that a reader which takes the mutex would delay the next one more.
    if (spin_up_to(spins, [&] { return number_.load(platform::relaxed) != update; })) return;
    await_writer();
  }
  void await_writer() noexcept { const std::scoped_lock over(writing_); }

  // Returns when their number has changed.
  [[gnu::noinline, gnu::cold]] void await_stalls(std::uint32_t stalls) noexcept {
    if (spin_up_to(spins, [&] { return stalls_.load(platform::relaxed) != stalls; })) return;
    go_offline();
    platform::futex_wait(platform::futex_of(stalls_), stalls, ~0U, nullptr);
  }

  platform::atomic<std::uint64_t> number_{0};
  platform::atomic<std::uint32_t> stalls_{0};  // readers that hold updates off
  mutex writing_;
};

}  // namespace readmost::detail
