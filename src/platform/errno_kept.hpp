// SPDX-License-Identifier: Apache-2.0
// Leaves errno as it was.
#pragma once

#include <cerrno>

namespace readmost::detail::platform {

class errno_kept {
 public:
  errno_kept() noexcept : saved_(errno) {}
  ~errno_kept() { errno = saved_; }
  errno_kept(const errno_kept&) = delete;
  errno_kept& operator=(const errno_kept&) = delete;

 private:
  int saved_;
};

}  // namespace readmost::detail::platform
