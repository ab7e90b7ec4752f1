// SPDX-License-Identifier: Apache-2.0
// The settings of a preloaded library, from the environment.
#pragma once

#include <cstddef>
#include <cstdint>

#include "statistics/lock_names.hpp"

namespace readmost::detail::interpose {

enum class prefer_choice : std::uint8_t { by_kind, reader, writer, phase_fair };

struct settings {
  lock_choice lock = lock_choice::prwlock;         // serves all but process-shared locks
  prefer_choice prefers = prefer_choice::by_kind;  // READMOST_PREFER
  bool stats = false;                              // READMOST_STATS
  bool stats_backtrace = false;                    // READMOST_STATS_BACKTRACE
  const char* stats_file = nullptr;                // null: stderr
};

// Read once, at the first call, which may come before any constructor has run. For an unknown value
// one line goes to stderr, and the default applies.
const settings& current_settings() noexcept;

const char* name_of(prefer_choice choice) noexcept;

// The lock of this library that READMOST_LOCK asks for, or the library's default after one line on
// stderr; each library defines it.
lock_choice chosen_lock() noexcept;

}  // namespace readmost::detail::interpose
