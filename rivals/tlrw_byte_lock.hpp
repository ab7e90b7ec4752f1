// SPDX-License-Identifier: Apache-2.0
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
// registry of TLRW's; a writer reads byte by byte, not eight at a time; no thread gives up and
// aborts, as the paper's transactions do. Recursion is counted in the byte.
//
// Reader: one store with a full fence to lock and one store to unlock; without a slot two atomics.
// Writer: one compare-and-swap and 49 loads from one line. All write that line: it is made for one
// chip. Preference: writers. Recursive read locks: yes, for those with a slot. Size: 56 bytes.
#pragma once

#include "rivals/flag_lock.hpp"

namespace rivals {

class reader_bytes {
 public:
  static constexpr unsigned size() noexcept { return sizeof bytes_; }
  auto& operator[](unsigned i) noexcept { return bytes_[i]; }

 private:
  platform::atomic<std::uint8_t> bytes_[48]{};
};

class tlrw_byte_lock : public flag_lock<std::uint8_t, reader_bytes> {
 public:
  constexpr tlrw_byte_lock() noexcept = default;
};
static_assert(sizeof(tlrw_byte_lock) == 56);

}  // namespace rivals
