// The settings of the preloaded library, from the environment.
#pragma once

#include <cstdint>

#include "statistics/lock_names.hpp"

namespace readmost::detail::interpose {

// The implementation that serves locks that are not process-shared.
enum class server : std::uint8_t { readmost, others };
enum class prefer_choice : std::uint8_t { by_kind, reader, writer, phase_fair };

struct settings {
  server served_by = server::readmost;             // that of `lock`
  lock_choice lock = lock_choice::prwlock;         // READMOST_LOCK
  prefer_choice prefers = prefer_choice::by_kind;  // READMOST_PREFER
  bool stats = false;                              // READMOST_STATS
  bool stats_backtrace = false;                    // READMOST_STATS_BACKTRACE
  const char* stats_file = nullptr;                // null: stderr
};

// Read once, at the first call, which may come before any constructor has run. For an unknown value
// one line goes to stderr, and the default applies.
const settings& current_settings() noexcept;

const char* name_of(prefer_choice choice) noexcept;

}  // namespace readmost::detail::interpose
