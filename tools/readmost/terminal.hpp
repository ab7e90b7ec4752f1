// SPDX-License-Identifier: Apache-2.0
// What a terminal adds to the command's output: its width, and colours where they are wanted.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace readmost::command {

// The columns of the terminal that `descriptor` is; 0 if it is none.
inline std::size_t columns_of(int descriptor) {
  if (isatty(descriptor) != 1) return 0;
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : 80;
}

// On terminals that know them, unless NO_COLOR (https://no-color.org) is set to something.
inline bool shows_colours(int descriptor) {
  const auto is_set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  const char* kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && !is_set("NO_COLOR") && kind != nullptr &&
         std::string_view(kind) != "dumb";
}

// For what goes to stdout.
enum class emphasis { heading, good, bad };

inline std::string emphasized(std::string_view text, emphasis how) {
  if (!shows_colours(STDOUT_FILENO)) return std::string(text);
  const char* begin = how == emphasis::heading ? "\x1b[1m"
                      : how == emphasis::good  ? "\x1b[32m"
                                               : "\x1b[31m";
  return begin + std::string(text) + "\x1b[0m";
}

}  // namespace readmost::command
