#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace readmost::command {

// Counts steps on stderr when that is a terminal, and wipes the line at the end.
class progress {
 public:
  explicit progress(unsigned long steps) : steps_(steps) { show(); }
  ~progress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void step() {
    ++done_;
    show();
  }

 private:
  void show() const {
    if (!shown_) return;
    fmt::print(stderr, "\r{}% ({} of {})", 100 * done_ / steps_, done_, steps_);
    std::fflush(stderr);
  }

  unsigned long steps_;
  unsigned long done_ = 0;
  const bool shown_ = isatty(STDERR_FILENO) == 1;
};

}  // namespace readmost::command
