// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>

namespace readmost::command {

// While this exists, SIGCHLD and the signals that end us arrive at a descriptor that can be polled,
// instead of interrupting anything.
class signal_watch {
 public:
  signal_watch();
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  int descriptor() const { return descriptor_; }

  // The latest signal that asked us to end, 0 when there was none.
  int take_interruption();

  // The signal mask for children.
  const sigset_t& mask_before() const { return before_; }

 private:
  sigset_t before_;
  int descriptor_;
};

}  // namespace readmost::command
