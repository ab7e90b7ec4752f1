// SPDX-License-Identifier: Apache-2.0
// Queues of retired objects: any thread pushes, one thread takes all. And how to reclaim an object.
#pragma once

#include <algorithm>
#include <bit>
#include <readmost/detail/rcu/retired.hpp>

#include "platform/tools.hpp"

namespace readmost::detail {

// Returns whether the queue was empty. `which`: the letter of the order.
inline bool push(platform::atomic<retired*>& latest, retired& object, letter which) noexcept {
  retired* before = latest.load(platform::relaxed);
  tools::happens_before(&latest);
  do {
    object.next = before;
    // (Y1) Pairs with (Y2), (HP13) with (HP14): a thread that takes the object sees it filled in.
  } while (!latest.compare_exchange_weak(before, &object, at(which, platform::release),
                                         platform::relaxed));
  return before == nullptr;
}

// Takes a queue and appends it, oldest first, to the list that ends in `tail`; returns the new end.
inline platform::variable<retired*>* append_oldest_first(
    platform::atomic<retired*>& latest, platform::variable<retired*>* tail) noexcept {
  if (latest.load(platform::relaxed) == nullptr) return tail;
  // (Y2) Pairs with (Y1).
  retired* object = latest.exchange(nullptr, at(letter::Y2, platform::acquire));
  tools::happens_after(&latest);
  retired* const last = object;
  retired* first = nullptr;
  while (object != nullptr) {
    retired* const older = object->next;
    object->next = first;
    first = object;
    object = older;
  }
  if (first == nullptr) return tail;
  *tail = first;
  return &last->next;
}

inline platform::variable<retired*>* end_of(platform::variable<retired*>& list) noexcept {
  auto* tail = &list;
  while (retired* const object = *tail) tail = &object->next;
  return tail;
}

// --- Kinds: a function in place of a kind is marked by the highest bit, which no address has.
// Below it are 6 bits for the size: 0, or the exponent of a power of two plus 1.

inline constexpr unsigned call_size_shift = 57;
inline constexpr std::uintptr_t call_mark = std::uintptr_t{1} << 63;
inline constexpr std::uintptr_t call_address = (std::uintptr_t{1} << call_size_shift) - 1;
inline constexpr unsigned call_sizes = 64;
// More than an address space has is counted as this, so that the sum over a backlog fits its count.
inline constexpr std::size_t most_call_bytes = std::size_t{1} << 47;

inline const retired_kind* kind_of_call(retired_call function, std::size_t bytes) noexcept {
  const std::size_t counted = std::min(bytes, most_call_bytes);
  const std::uintptr_t bits =
      counted == 0 ? 0U : static_cast<unsigned>(std::bit_width(counted - 1)) + 1;
  return reinterpret_cast<const retired_kind*>(reinterpret_cast<std::uintptr_t>(function) |
                                               bits << call_size_shift | call_mark);
}

inline std::size_t bytes_of(const retired_kind* kind) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(kind);
  if ((word & call_mark) == 0) return kind->bytes;
  const std::uintptr_t size = word >> call_size_shift & (call_sizes - 1);
  return size == 0 ? 0 : std::size_t{1} << (size - 1);
}

// Objects that wait hold their kind mixed with their own address: a copy of one, which a writer may
// make to replace it, is not retired.
inline const retired_kind* mixed_with_address(const retired& object,
                                              const retired_kind* kind) noexcept {
  return reinterpret_cast<const retired_kind*>(reinterpret_cast<std::uintptr_t>(kind) ^
                                               reinterpret_cast<std::uintptr_t>(&object));
}
inline void set_kind(retired& object, const retired_kind* kind) noexcept {
  object.kind = mixed_with_address(object, kind);
}
inline const retired_kind* kind_of(const retired& object) noexcept {
  return mixed_with_address(object, object.kind);
}

// For reports.
inline std::uintptr_t address_of_deleter(const retired_kind* kind) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(kind);
  return (word & call_mark) == 0 ? reinterpret_cast<std::uintptr_t>(kind->reclaim)
                                 : word & call_address;
}

#if defined(__clang__)
[[clang::no_sanitize("function")]]  // C deleters take another type than `retired`
#endif
inline void
reclaim(retired& object, const retired_kind* kind) noexcept {
  const auto word = reinterpret_cast<std::uintptr_t>(kind);
  if ((word & call_mark) == 0) {
    kind->reclaim(&object);
  } else {
    reinterpret_cast<retired_call>(word & call_address)(&object);
  }
}

}  // namespace readmost::detail
