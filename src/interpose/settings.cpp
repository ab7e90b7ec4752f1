// SPDX-License-Identifier: Apache-2.0
#include "interpose/settings.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <string_view>

#include "interpose/layout.hpp"
#include "lock/observation.hpp"
#include "platform/choice.hpp"
#include "statistics/lock_statistics.hpp"
#include "statistics/profile_setting.hpp"

namespace readmost::detail {

bool starts_no_profile_early() noexcept {
  return true;
}

}  // namespace readmost::detail

namespace readmost::detail::interpose {

namespace {

constexpr std::array<std::string_view, 4> prefer_names{"kind", "reader", "writer", "phase-fair"};

// Whether the program's calls reach this library by way of another one: by a sanitizer's runtime in
// the program itself, which tells the sanitizer of each.
bool is_called_by_another() noexcept {
  static constexpr char anchor = 0;
  Dl_info here{};
  Dl_info called{};
  const void* const function = dlsym(RTLD_DEFAULT, "pthread_rwlock_rdlock");
  return function != nullptr && dladdr(&anchor, &here) != 0 && dladdr(function, &called) != 0 &&
         here.dli_fbase != called.dli_fbase;
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
    offset_of_core = core_offset;
    locks_are_known_to_tool = tools::are_present() && is_called_by_another();
    // Before the first use of a lock is over, which would open its fast paths otherwise.
    if (in_force.stats && in_force.lock == lock_choice::prwlock) {
      enable_lock_statistics(in_force.stats_backtrace);
    }
    if (in_force.lock == lock_choice::prwlock)
      start_profile_if_asked("pthread_rwlock_t", core_offset);
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
