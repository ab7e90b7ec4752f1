// SPDX-License-Identifier: Apache-2.0
// Data that may be read while it is written, by readers that validate afterwards.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace rivals {

// One word of it. Loads are acquires, so that the load of the lock's number stays after them;
// stores are releases, so that a reader of one also sees the number that the writer set before. x86
// has both at no cost. (Boehm, Can Seqlocks Get Along With Programming Language Memory Models?,
// MSPC 2012, which has it beside the variant with fences.)
template <class T>
class sequenced {
 public:
  constexpr sequenced() noexcept = default;
  constexpr sequenced(T value) noexcept : value_(value) {}
  sequenced(const sequenced&) = delete;
  sequenced& operator=(const sequenced&) = delete;

  operator T() const noexcept { return value_.load(readmost::detail::platform::acquire); }
  sequenced& operator=(T value) noexcept {
    value_.store(value, readmost::detail::platform::release);
    return *this;
  }

 private:
  readmost::detail::platform::atomic<T> value_{};
};

}  // namespace rivals
