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

  void add_json_string(const char* s) noexcept {
    add("\"");
    for (; *s != '\0'; ++s) {
      const auto c = static_cast<unsigned char>(*s);
      if (c == '"' || c == '\\') {
        add("\\%c", c);
      } else if (c < 0x20) {
        add("\\u%04x", c);
      } else {
        add("%c", c);
      }
    }
    add("\"");
  }

  const char* data() const noexcept { return buffer_; }
  std::size_t length() const noexcept { return length_; }

 private:
  static constexpr std::size_t room = std::size_t{1} << 20;
  char* buffer_;
  std::size_t length_ = 0;
};

}  // namespace readmost::detail
