// SPDX-License-Identifier: Apache-2.0
// Environment variables that choose among names.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "platform/text.hpp"

namespace readmost::detail {

// Whether this program says which values are wrong. A program that hands its environment on to one
// with the library, as the command does, defines it to return false: the other says it.
bool tells_of_wrong_settings() noexcept;

// One line on stderr about a wrong value, unless another program tells it.
void complain(const text_buffer& complaint) noexcept;

// The index of a variable's value among the names; `otherwise` if it is unset or empty, and, after
// one line on stderr, if it is none of them.
inline std::size_t chosen_among(std::span<const std::string_view> names, const char* variable,
                                std::size_t otherwise) noexcept {
  char value[256];
  if (!platform::environment(variable, value, sizeof value) || *value == '\0') return otherwise;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == value) return i;
  }
  text_buffer complaint;
  complaint.add("readmost: %s=", variable);
  complaint.add_shown(value);
  complaint.add(" is not known; it can be");
  for (std::size_t i = 0; i < names.size(); ++i) {
    complaint.add("%s %s", i == 0 ? "" : i + 1 < names.size() ? "," : " or", names[i].data());
  }
  complaint.add(". Using %s.\n", names[otherwise].data());
  complain(complaint);
  return otherwise;
}

// Whether a variable is set to something other than the empty text or 0.
inline bool is_asked_for(const char* variable, char* value, std::size_t size) noexcept {
  return platform::environment(variable, value, size) && *value != '\0' &&
         !(value[0] == '0' && value[1] == '\0');
}

// The same as chosen_among() for a variable that can be 0 or 1.
inline bool chosen_on(const char* variable, bool otherwise) noexcept {
  static constexpr std::string_view names[]{"0", "1"};
  return chosen_among(names, variable, otherwise ? 1 : 0) == 1;
}

}  // namespace readmost::detail
