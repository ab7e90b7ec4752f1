// SPDX-License-Identifier: Apache-2.0
// The memory of one execution: allocated piece by piece and freed all at once. Addresses are the
// same in every execution and in every run of the program, so that schedules can be replayed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace readmost::model {

class arena {
 public:
  // `at` is the wanted address, which is used if it is free.
  arena(std::uintptr_t at, std::size_t bytes);
  ~arena();
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  void* take(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    const std::uintptr_t start = (next_ + alignment - 1) & ~(alignment - 1);
    if (start + bytes > end_) exhausted();
    next_ = start + bytes;
    return reinterpret_cast<void*>(start);
  }
  void clear() noexcept { next_ = begin_; }

 private:
  [[noreturn]] void exhausted() const;

  std::uintptr_t begin_;
  std::uintptr_t end_;
  std::uintptr_t next_;
};

}  // namespace readmost::model
