#include "settings.hpp"

#include <cstdio>
#include <cstring>
#include <readmost/platform.hpp>

namespace readmost::interpose {

namespace {

template <class Choice>
struct choice_name {
  const char* text;
  Choice choice;
};

constexpr choice_name<lock_choice> lock_names[] = {{"prwlock", lock_choice::prwlock},
                                                   {"pthread", lock_choice::pthread}};
constexpr choice_name<prefer_choice> prefer_names[] = {{"kind", prefer_choice::by_kind},
                                                       {"reader", prefer_choice::reader},
                                                       {"writer", prefer_choice::writer},
                                                       {"phase-fair", prefer_choice::phase_fair}};

template <class Choice, std::size_t N>
void choose(const char* variable, const choice_name<Choice> (&names)[N], Choice& chosen) noexcept {
  char value[256];
  if (!platform::environment(variable, value, sizeof value) || *value == '\0') return;
  for (const auto& name : names) {
    if (std::strcmp(value, name.text) == 0) {
      chosen = name.choice;
      return;
    }
  }
  char line[512];
  int length = std::snprintf(line, sizeof line, "readmost: %s=%.200s is not known; it can be",
                             variable, value);
  for (std::size_t i = 0; i < N; ++i) {
    length += std::snprintf(line + length, sizeof line - static_cast<std::size_t>(length), "%s %s",
                            i == 0 ? "" : " or", names[i].text);
  }
  length += std::snprintf(line + length, sizeof line - static_cast<std::size_t>(length),
                          ". Using %s.\n", names[0].text);
  platform::write_text(nullptr, line, static_cast<std::size_t>(length));
}

// Whether a variable is set, and neither empty nor 0.
bool is_asked_for(const char* variable, char* value, std::size_t size) noexcept {
  return platform::environment(variable, value, size) && *value != '\0' &&
         std::strcmp(value, "0") != 0;
}

template <class Choice, std::size_t N>
const char* name_in(const choice_name<Choice> (&names)[N], Choice choice) noexcept {
  for (const auto& name : names) {
    if (name.choice == choice) return name.text;
  }
  return "";
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
    choose("READMOST_LOCK", lock_names, in_force.lock);
    choose("READMOST_PREFER", prefer_names, in_force.prefers);
    if (is_asked_for("READMOST_STATS", stats_file, sizeof stats_file)) {
      in_force.stats = true;
      if (std::strcmp(stats_file, "1") != 0) in_force.stats_file = stats_file;
    }
    char backtrace[8];
    in_force.stats_backtrace =
        is_asked_for("READMOST_STATS_BACKTRACE", backtrace, sizeof backtrace);
    progress.store(read, platform::release);
  } else {
    while (progress.load(platform::acquire) != read) platform::yield();
  }
  return in_force;
}

const char* name_of(lock_choice choice) noexcept {
  return name_in(lock_names, choice);
}
const char* name_of(prefer_choice choice) noexcept {
  return name_in(prefer_names, choice);
}

}  // namespace readmost::interpose
