// What the environment asks of the preloaded library.
#pragma once

#include <cstdint>

namespace readmost::interpose {

enum class lock_choice : std::uint8_t { prwlock, pthread };
enum class prefer_choice : std::uint8_t { by_kind, reader, writer, phase_fair };

struct settings {
  lock_choice lock = lock_choice::prwlock;         // READMOST_LOCK
  prefer_choice prefers = prefer_choice::by_kind;  // READMOST_PREFER
  bool stats = false;                              // READMOST_STATS
  bool stats_backtrace = false;                    // READMOST_STATS_BACKTRACE
  const char* stats_file = nullptr;                // null: stderr
};

// Read once, at the first call, which may come before any constructor has run. A value that is not
// understood gives one line on stderr, and the default.
const settings& current_settings() noexcept;

const char* name_of(lock_choice choice) noexcept;
const char* name_of(prefer_choice choice) noexcept;

}  // namespace readmost::interpose
