// SPDX-License-Identifier: Apache-2.0
// The CPUs that a thread may use, as the kernel has them: a bit for each, also beyond the 1024 of
// cpu_set_t.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace readmost::detail::platform {

class cpu_mask {
 public:
  // Takes those of a thread, 0 for the calling one; false, and no CPUs, if the kernel refuses.
  bool get(pid_t thread) noexcept {
    const long got = syscall(SYS_sched_getaffinity, thread, sizeof words_, words_);
    bytes_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    return bytes_ != 0;
  }
  // For the calling thread; false with errno if the kernel refuses.
  bool set() const noexcept { return syscall(SYS_sched_setaffinity, 0, bytes_, words_) == 0; }

  // How many CPUs there may be.
  std::size_t size() const noexcept { return bytes_ * 8; }
  // One of `of` alone.
  void only(std::size_t which, const cpu_mask& of) noexcept {
    std::memset(words_, 0, sizeof words_);
    bytes_ = of.bytes_;
    words_[which / bits] = 1UL << which % bits;
  }

 private:
  static constexpr std::size_t bits = sizeof(unsigned long) * 8;
  static constexpr std::size_t most_cpus = 8192;
  unsigned long words_[most_cpus / bits] = {};
  std::size_t bytes_ = 0;
};

}  // namespace readmost::detail::platform
