// SPDX-License-Identifier: Apache-2.0
// Stops a thread where a test wants it, for instance in the middle of a call (single_step.hpp).
#pragma once

#include <sched.h>

#include <atomic>

namespace test {

class stop {
 public:
  // Called by the thread, also in a signal handler: waits for the release.
  void here() {
    reached_ = true;
    while (!released_) sched_yield();
  }
  bool is_reached() const { return reached_; }
  void release() { released_ = true; }

 private:
  std::atomic<bool> reached_{false};
  std::atomic<bool> released_{false};
};

}  // namespace test
