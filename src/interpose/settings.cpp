#include "interpose/settings.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <string_view>

#include "interpose/layout.hpp"
#include "lock/observation.hpp"
#include "platform/text.hpp"
#include "statistics/lock_statistics.hpp"

namespace readmost::detail::interpose {

namespace {

constexpr std::array<std::string_view, 4> prefer_names{"kind", "reader", "writer", "phase-fair"};

// Whether a variable is set to something other than the empty text or 0.
bool is_asked_for(const char* variable, char* value, std::size_t size) noexcept {
  return platform::environment(variable, value, size) && *value != '\0' &&
         std::strcmp(value, "0") != 0;
}

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
    char backtrace[8];
    in_force.stats_backtrace =
        is_asked_for("READMOST_STATS_BACKTRACE", backtrace, sizeof backtrace);
    offset_of_core = core_offset;
    locks_are_known_to_tool = tools::are_present() && is_called_by_another();
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

std::size_t chosen_among(std::span<const std::string_view> names, const char* variable,
                         std::size_t otherwise) noexcept {
  char value[256];
  if (!platform::environment(variable, value, sizeof value) || *value == '\0') return otherwise;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == value) return i;
  }
  text_buffer complaint;
  complaint.add("readmost: %s=%.200s is not known; it can be", variable, value);
  for (std::size_t i = 0; i < names.size(); ++i) {
    complaint.add("%s %s", i == 0 ? "" : i + 1 < names.size() ? "," : " or", names[i].data());
  }
  complaint.add(". Using %s.\n", names[otherwise].data());
  platform::write_text(nullptr, complaint.data(), complaint.length());
  return otherwise;
}

}  // namespace readmost::detail::interpose
