// SPDX-License-Identifier: Apache-2.0
// The library's thread-local variables on a simulated machine. They lie in a section of their own
// (READMOST_THREAD_LOCAL), whose content is exchanged whenever another simulated thread runs.
#pragma once

#include <vector>

namespace readmost::model {

// Those of one thread while it does not run.
class own_variables {
 public:
  // As at the start of the program.
  own_variables();
  void reset();

  // Keeps the section's content here.
  void save() noexcept;
  // Puts this content into the section.
  void take_place() const noexcept;

  const char* data() const noexcept { return content_.data(); }

 private:
  std::vector<char> content_;
};

}  // namespace readmost::model
