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

std::string wrapped(const std::string& text, std::size_t indentation, std::size_t width) {
  std::istringstream words(text);
  std::string lines;
  std::size_t column = 0;
  for (std::string word; words >> word;) {
    if (column != 0 && column + 1 + word.size() > width) {
      lines += '\n' + std::string(indentation, ' ');
      column = indentation;
    } else if (column != 0) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
  }
  return lines + '\n';
}

}  // namespace readmost::command
