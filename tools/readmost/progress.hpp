// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "terminal.hpp"

namespace readmost::command {

// Shows how far a series of equally long steps has come, on one line of stderr if that is a
// terminal, and wipes the line at the end.
class progress {
 public:
  explicit progress(unsigned long steps) : steps_(steps) { show(""); }
  ~progress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  // What the next step does.
  void name_step(const std::string& what) const { show(", " + what); }

  void step() {
    ++done_;
    show("");
  }

 private:
  void show(const std::string& what) const {
    if (!shown_) return;
    const std::string line = fmt::format("{}% ({} of {}){}{}", 100 * done_ / steps_, done_, steps_,
                                         what, done_ == 0 ? "" : time_left());
    // One column stays free: some terminals wrap a line that fills the last one.
    fmt::print(stderr, "\r\x1b[K{}", line.substr(0, columns_of(STDERR_FILENO) - 1));
    std::fflush(stderr);
  }

  std::string time_left() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    const auto left = static_cast<unsigned long>(
        spent.count() * static_cast<double>(steps_ - done_) / static_cast<double>(done_));
    return left >= 120 ? fmt::format(", {} min left", left / 60) : fmt::format(", {} s left", left);
  }

  unsigned long steps_;
  unsigned long done_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  const bool shown_ = isatty(STDERR_FILENO) == 1;
};

}  // namespace readmost::command
