// SPDX-License-Identifier: Apache-2.0
#include "lines.hpp"

#include <fmt/format.h>

#include <sstream>

namespace readmost::command {

std::string shown(const std::string& text) {
  std::string clean;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < ' ' || code == 0x7f) {
      clean += fmt::format("\\x{:02x}", code);
    } else {
      clean += c;
    }
  }
  return clean;
}

std::string wrapped(const std::string& text, std::size_t indentation, std::size_t width,
                    const std::string& first) {
  std::istringstream words(text);
  std::string lines = first;
  std::size_t column = first.size();
  bool is_first = true;
  for (std::string word; words >> word; is_first = false) {
    if (!is_first && column + 1 + word.size() > width) {
      lines += '\n' + std::string(indentation, ' ');
      column = indentation;
    } else if (!is_first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines + '\n';
}

}  // namespace readmost::command
