#pragma once

#include <boost/timer/progress_display.hpp>
#include <optional>

namespace readmost::command {

// A bar on stderr when that is a terminal, otherwise nothing.
class progress {
 public:
  explicit progress(unsigned long steps);
  ~progress();
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  void step();

 private:
  std::optional<boost::timer::progress_display> bar_;
};

}  // namespace readmost::command
