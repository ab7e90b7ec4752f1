// SPDX-License-Identifier: Apache-2.0
// Text in lines that fit a page.
#pragma once

#include <cstddef>
#include <string>

namespace readmost::command {

inline constexpr std::size_t page_width = 80;

// Names of threads and programs may hold any bytes: control characters as \x1b.
std::string shown(const std::string& text);

// The words in lines of `width`. The first line begins with `first`, the others are indented. A
// longer word, as a path may be, has a line of its own.
std::string wrapped(const std::string& text, std::size_t indentation,
                    std::size_t width = page_width, const std::string& first = {});

}  // namespace readmost::command
