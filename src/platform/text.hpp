// SPDX-License-Identifier: Apache-2.0
// The text of a report while it grows.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

// In pages of its own, which take memory only as far as they are written. Text that does not fit is
// cut.
class text_buffer {
 public:
  text_buffer() noexcept : buffer_(static_cast<char*>(platform::map_pages(room))) {}
  ~text_buffer() { platform::give_back({buffer_, room}); }
  text_buffer(const text_buffer&) = delete;
  text_buffer& operator=(const text_buffer&) = delete;

  __attribute__((format(printf, 2, 3))) void add(const char* format, ...) noexcept {
    if (buffer_ == nullptr) return;
    va_list arguments;
    va_start(arguments, format);
    const int added = std::vsnprintf(buffer_ + length_, room - length_, format, arguments);
    va_end(arguments);
    if (added > 0) length_ += static_cast<std::size_t>(added);
    if (length_ >= room) length_ = room - 1;
  }

  // What is no UTF-8 becomes U+FFFD.
  void add_json_string(const char* s) noexcept {
    add("\"");
    add_escaped(s, [this](unsigned char c, bool is_utf8) {
      if (!is_utf8) {
        add("\\ufffd");
      } else if (c == '"' || c == '\\') {
        add("\\%c", c);
      } else if (is_control(c)) {
        add("\\u%04x", c);
      } else {
        return false;
      }
      return true;
    });
    add("\"");
  }

  // For people: what a terminal would obey or cannot show is written as in C.
  void add_shown(const char* s) noexcept {
    add_escaped(s, [this](unsigned char c, bool is_utf8) {
      const bool escapes = !is_utf8 || is_control(c);
      if (escapes) add("\\x%02x", c);
      return escapes;
    });
  }

  const char* data() const noexcept { return buffer_; }
  std::size_t length() const noexcept { return length_; }

 private:
  // Adds each character as it is, unless escape(its first byte, whether it is UTF-8) has added
  // something in its place and returns true.
  template <class Escape>
  void add_escaped(const char* s, Escape escape) noexcept {
    while (*s != '\0') {
      const std::size_t bytes = utf8_bytes(s);
      if (!escape(static_cast<unsigned char>(*s), bytes != 0)) {
        add("%.*s", static_cast<int>(bytes), s);
      }
      s += bytes != 0 ? bytes : 1;
    }
  }

  static bool is_control(unsigned char c) noexcept { return c < 0x20 || c == 0x7f; }

  // The length of the character at the beginning of `s`; 0 if it is no UTF-8 (RFC 3629).
  static std::size_t utf8_bytes(const char* s) noexcept {
    const auto byte = [s](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xc2 || first > 0xf4) return 0;
    const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    // Neither longer than necessary, nor a surrogate, nor above U+10FFFF.
    const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (byte(1) < least || byte(1) > most) return 0;
    for (std::size_t i = 2; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    return length;
  }

  static constexpr std::size_t room = std::size_t{1} << 20;
  char* buffer_;
  std::size_t length_ = 0;
};

}  // namespace readmost::detail
