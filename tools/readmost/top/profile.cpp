// SPDX-License-Identifier: Apache-2.0
#include "top/profile.hpp"

#include "failure.hpp"

namespace readmost::command {

profile_copy profile_of(top_target& target) {
  platform::atomic<profile_table*> root{};
  target.read(target.shown().profile, root);
  const profile_table* const there = root.load(platform::relaxed);
  if (there == nullptr) {
    throw failure(
        "process {} ({}) keeps no profile; start it with 'READMOST_PROFILE=1 readmost run -- {}'",
        target.pid(), target.program(), target.program());
  }
  auto copy = std::make_unique<profile_table>();
  target.read(there, *copy);
  return copy;
}

}  // namespace readmost::command
