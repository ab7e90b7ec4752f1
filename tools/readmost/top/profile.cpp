// SPDX-License-Identifier: Apache-2.0
#include "top/profile.hpp"

#include <string_view>

#include "failure.hpp"
#include "platform/memory_map.hpp"

namespace readmost::command {
namespace {

// The library maps a table alone: in a file with this ending, or as pages that forks share, which
// the kernel shows under this name.
bool may_be_profile(const mapping& m) {
  const std::string_view name(m.name, m.name_length);
  return m.is_writable && m.file_offset == 0 &&
         (name == "/dev/zero (deleted)" || name.find(".stacks") != name.npos);
}

}  // namespace

kept_profiles profiles_of(const top_process& process) {
  kept_profiles found;
  const std::string maps = process.maps();
  mapping m;
  for (maps_reader lines({maps.data(), maps.size()}); lines.next(m);) {
    if (!may_be_profile(m)) continue;
    const auto* const there = reinterpret_cast<const profile_table*>(m.start);
    auto copy = std::make_unique<profile_table>();
    process.read(&there->magic, copy->magic);
    if (!copy->has_magic()) continue;
    process.read(&there->size, copy->size);
    if (copy->size != sizeof(profile_table)) {
      found.lacks_other_build = true;
      continue;
    }
    process.read(there, *copy);
    found.by_address[m.start] = std::move(copy);
  }
  if (found.by_address.empty()) {
    if (found.lacks_other_build) warn_of_other_build(process.pid());
    throw failure(
        "process {} ({}) keeps no profile; start it with 'READMOST_PROFILE=1 readmost run -- {}'",
        process.pid(), process.program(), process.program());
  }
  return found;
}

}  // namespace readmost::command
