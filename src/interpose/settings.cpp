#include "interpose/settings.hpp"

#include <array>
#include <cstring>
#include <string_view>

#include "platform/choice.hpp"
#include "statistics/lock_statistics.hpp"

namespace readmost::detail::interpose {

namespace {

constexpr std::array<std::string_view, 4> prefer_names{"kind", "reader", "writer", "phase-fair"};

// Whether a variable is set to something other than the empty text or 0.
bool is_asked_for(const char* variable, char* value, std::size_t size) noexcept {
  return platform::environment(variable, value, size) && *value != '\0' &&
         std::strcmp(value, "0") != 0;
}

enum : std::uint32_t { unread, being_read, read };

constinit platform::atomic<std::uint32_t> progress{unread};
constinit settings in_force;
char stats_file[4096];

}  // namespace

const settings& current_settings() noexcept {
  if (progress.load(platform::acquire) == read) [[likely]]
    return in_force;
  std::uint32_t expected = unread;
  if (progress.compare_exchange_strong(expected, being_read, platform::acquire)) {
    in_force.lock = chosen_lock();
    in_force.prefers = static_cast<prefer_choice>(chosen_among(prefer_names, "READMOST_PREFER", 0));
    if (is_asked_for("READMOST_STATS", stats_file, sizeof stats_file)) {
      in_force.stats = true;
      if (std::strcmp(stats_file, "1") != 0) in_force.stats_file = stats_file;
    }
    in_force.stats_backtrace = chosen_on("READMOST_STATS_BACKTRACE", false);
    // Before the first use of a lock is over, which would open its fast paths otherwise.
    if (in_force.stats && in_force.lock == lock_choice::prwlock) {
      enable_lock_statistics(in_force.stats_backtrace);
    }
    progress.store(read, platform::release);
  } else {
    while (progress.load(platform::acquire) != read) platform::yield();
  }
  return in_force;
}

const char* name_of(prefer_choice choice) noexcept {
  return prefer_names[static_cast<std::size_t>(choice)].data();
}

}  // namespace readmost::detail::interpose
