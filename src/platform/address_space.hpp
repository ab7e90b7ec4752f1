// SPDX-License-Identifier: Apache-2.0
// Describes addresses of a process for people: symbol, or mapping and offset. For reports only:
// reads /proc and the files of modules. Without libstdc++, because the preloaded library uses it
// too.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

struct place {
  char symbol[512];             // of the module's own symbol tables; empty: not known
  std::uint64_t symbol_offset;  // from the symbol's start
  char mapping[512];            // a file's path, [heap], [stack] or anonymous; empty: not mapped
  std::uint64_t offset;         // in a module as nm(1) shows it, else from the mapping's start
};

// How to spell symbols. Mangled names need no allocation and no lock of the C++ library.
enum class symbol_names : std::uint8_t { demangled, mangled };

// A snapshot of a process's mappings.
class address_space {
 public:
  // `proc` is the process's folder: "/proc/self" or "/proc/PID".
  explicit address_space(const char* proc, symbol_names names = symbol_names::demangled) noexcept;
  // The same of a text in the form of /proc/PID/maps, which is not copied. `proc` is the folder of
  // a process that finds the files of modules.
  address_space(const char* proc, const char* maps, std::size_t size) noexcept
      : proc_(proc), names_(symbol_names::demangled), maps_{maps, size}, owns_maps_(false) {}
  ~address_space();
  address_space(const address_space&) = delete;
  address_space& operator=(const address_space&) = delete;

  // False if the mappings cannot be read.
  bool is_known() const noexcept { return maps_.data != nullptr; }

  place place_of(std::uintptr_t address) const noexcept;

 private:
  const char* proc_;
  symbol_names names_;
  platform::file_content maps_;
  bool owns_maps_ = true;
};

// "routes+0x38 (server)", "libcrypto.so.3+0x4b2f60", "[heap]+0x12a0"; null-terminated, cut.
void describe(const place& where, char* text, std::size_t size) noexcept;

}  // namespace readmost::detail
