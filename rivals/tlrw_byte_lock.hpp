// The byte lock of TLRW: a byte for each favoured reader and a counter for the others, all in one
// cache line.
//
// Source: Dice, Shavit, TLRW: Return of the Read-Write Lock, SPAA 2010: the byte lock.
//
// A favoured reader, one with a slot, stores to its byte, with a full fence, and enters unless it
// then sees an owner. The others count themselves by an atomic. A writer becomes the owner by
// compare-and-swap and waits until all bytes and the counter are zero.
//
// Simplified: the slots go to the threads with the lowest numbers (home.hpp) instead of by a
// registry of TLRW's; a writer reads byte by byte, not eight at a time; nobody gives up and aborts,
// as the paper's transactions do. Recursion is counted in the byte.
//
// Reader: one store with a full fence to lock and one store to unlock; without a slot two atomics.
// Writer: one compare-and-swap and 49 loads from one line. All write that line: it is made for one
// chip. Preference: writers. Recursive read locks: yes, for those with a slot. Size: 56 bytes.
#pragma once

#include "rivals/home.hpp"

namespace rivals {

class tlrw_byte_lock : immovable<tlrw_byte_lock> {
 public:
  static constexpr unsigned slots = 48;

  void lock() noexcept {
    wait_until([this] { return owned_.load(platform::relaxed) == 0 && own(); });
    for (const auto& slot : readers_) {
      wait_until([&] { return slot.load(platform::seq_cst) == 0; });
    }
    wait_until([this] { return others_.load(platform::seq_cst) == 0; });
  }
  bool try_lock() noexcept {
    if (!own()) return false;
    bool is_read = others_.load(platform::seq_cst) != 0;
    for (const auto& slot : readers_) {
      is_read = is_read || slot.load(platform::seq_cst) != 0;
    }
    if (is_read) unlock();
    return !is_read;
  }
  void unlock() noexcept { owned_.store(0, platform::release); }

  void lock_shared() noexcept {
    retry([this] { return try_lock_shared(); },
          [this] { return owned_.load(platform::relaxed) != 0; });
  }
  // Whoever is seen by the other stays out, as in brlock_flags.hpp.
  bool try_lock_shared() noexcept {
    const unsigned number = my_number();
    if (number < slots) {
      auto& slot = readers_[number];
      const std::uint8_t depth = slot.load(platform::relaxed);
      if (depth != 0) {  // inside already: an owner waits for this thread
        if (depth == most) {
          others_.fetch_add(1, platform::relaxed);
        } else {
          slot.store(static_cast<std::uint8_t>(depth + 1), platform::relaxed);
        }
        return true;
      }
      slot.store(1, platform::seq_cst);
    } else {
      others_.fetch_add(1, platform::seq_cst);
    }
    if (owned_.load(platform::seq_cst) == 0) return true;
    unlock_shared();
    return false;
  }
  void unlock_shared() noexcept {
    if (const unsigned number = my_number(); number < slots) {
      auto& slot = readers_[number];
      if (const std::uint8_t depth = slot.load(platform::relaxed); depth != 0) {
        slot.store(static_cast<std::uint8_t>(depth - 1), platform::release);
        return;
      }
    }
    others_.fetch_sub(1, platform::release);
  }

 private:
  static constexpr std::uint8_t most = 255;

  bool own() noexcept {
    std::uint32_t nobody = 0;
    return owned_.compare_exchange_strong(nobody, 1, platform::seq_cst, platform::relaxed);
  }

  // A writer is inside or waits for readers to leave.
  platform::atomic<std::uint32_t> owned_{0};
  platform::atomic<std::uint32_t> others_{0};
  // By number: so deep is its thread inside.
  platform::atomic<std::uint8_t> readers_[slots]{};
};
static_assert(sizeof(tlrw_byte_lock) == 56);

}  // namespace rivals
