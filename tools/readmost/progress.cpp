#include "progress.hpp"

#include <unistd.h>

#include <iostream>

namespace readmost::command {

progress::progress(unsigned long steps) {
  if (isatty(STDERR_FILENO) == 1) bar_.emplace(steps, std::cerr, "");
}

progress::~progress() {
  // What is printed next starts on a line of its own also when the bar stopped half-way.
  if (bar_ && bar_->count() < bar_->expected_count()) std::cerr << std::endl;
}

void progress::step() {
  if (bar_) ++*bar_;
}

}  // namespace readmost::command
