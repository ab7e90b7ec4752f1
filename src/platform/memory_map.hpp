// SPDX-License-Identifier: Apache-2.0
// Reads the text of /proc/PID/maps.
#pragma once

#include <cstring>
#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

// One line of it. The name is a part of the text.
struct mapping {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  const char* name = nullptr;
  std::size_t name_length = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t inode = 0;
  bool is_writable = false;
  bool is_executable = false;

  bool is_file() const noexcept { return name_length != 0 && *name == '/'; }
  bool has_same_name(const mapping& other) const noexcept {
    return name_length == other.name_length && std::memcmp(name, other.name, name_length) == 0;
  }
};

class maps_reader {
 public:
  explicit maps_reader(platform::file_content maps) noexcept
      : at_(maps.data), end_(maps.data + maps.size) {}

  // start-end permissions offset device inode   name
  bool next(mapping& m) noexcept {
    if (at_ == nullptr || at_ >= end_) return false;
    m.start = number(16);
    ++at_;
    m.end = number(16);
    skip_blanks();
    m.is_writable = end_ - at_ > 2 && at_[1] == 'w';
    m.is_executable = end_ - at_ > 2 && at_[2] == 'x';
    skip_word();
    m.file_offset = number(16);
    skip_word();
    skip_word();
    m.inode = number(10);
    skip_blanks();
    m.name = at_;
    while (at_ < end_ && *at_ != '\n') ++at_;
    m.name_length = static_cast<std::size_t>(at_ - m.name);
    if (at_ < end_) ++at_;
    return true;
  }

 private:
  std::uintptr_t number(std::uintptr_t base) noexcept {
    std::uintptr_t value = 0;
    for (; at_ < end_; ++at_) {
      const char c = *at_;
      if (c >= '0' && c <= '9') {
        value = value * base + static_cast<std::uintptr_t>(c - '0');
      } else if (c >= 'a' && c <= 'f') {
        value = value * base + static_cast<std::uintptr_t>(c - 'a' + 10);
      } else {
        break;
      }
    }
    return value;
  }
  void skip_blanks() noexcept {
    while (at_ < end_ && *at_ == ' ') ++at_;
  }
  void skip_word() noexcept {
    skip_blanks();
    while (at_ < end_ && *at_ != ' ' && *at_ != '\n') ++at_;
    skip_blanks();
  }

  const char* at_;
  const char* end_;
};

}  // namespace readmost::detail
