// SPDX-License-Identifier: Apache-2.0
// READMOST_PROFILE: 1 for a profile that `readmost top` reads, or a folder for the command's.
#pragma once

#include <cstddef>

namespace readmost::detail {

// Whether this copy of the library keeps no profile unless start_profile_if_asked() is called. A
// copy in a program or in libreadmost.so calls it before main(). A preloaded library, which does so
// once it knows its lock, and the command, which only hands its environment on, define this to
// return true.
bool starts_no_profile_early() noexcept;

// `of`: whose profile, for the line on stderr if none can be kept. `core_offset`: see
// profile_table. Precondition: not called yet.
void start_profile_if_asked(const char* of, std::size_t core_offset) noexcept;

}  // namespace readmost::detail
