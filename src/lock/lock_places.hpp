// SPDX-License-Identifier: Apache-2.0
// What is known of busy locks beyond their 16 bytes: one value for all locks whose addresses share
// a place.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

template <class Value>
class lock_places {
 public:
  Value& operator[](const rwlock& lock) noexcept { return values_[scattered(&lock) >> shift]; }
  Value* begin() noexcept { return values_; }
  Value* end() noexcept { return values_ + count; }

 private:
  static constexpr std::size_t count = 64;
  static constexpr unsigned shift = 58;
  static_assert(count == std::size_t{1} << (64 - shift));

  Value values_[count]{};
};

}  // namespace readmost::detail
