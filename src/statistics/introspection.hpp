// SPDX-License-Identifier: Apache-2.0
// The data of the preloaded library that `readmost top` reads from outside the process.
#pragma once

#include <cstring>
#include <readmost/detail/threads/domain.hpp>

#include "statistics/lock_names.hpp"
#include "statistics/lock_table.hpp"

namespace readmost::detail {

// Exported under the name in `symbol`. Reader and library have to be built from the same headers,
// which `version` and `sizes` verify.
struct introspection {
  static constexpr const char* symbol = "readmost_introspection";
  static constexpr std::size_t layouts = 5;

  char magic[16] = {'r', 'e', 'a', 'd', 'm', 'o', 's', 't', ' ', 'p', 't', 'h', 'r', 'e', 'a', 'd'};
  char version[16]{};
  std::uint32_t sizes[layouts] = {sizeof(introspection), sizeof(domain), sizeof(chunk),
                                  sizeof(lock_table), sizeof(tally_cells)};
  const domain* domains{};
  const lock_statistics_roots* statistics{};
  // The distance from the address of a program's lock up to that of the core's lock in it.
  std::size_t core_offset{};
  // Whether this lock is Readmost's own: statistics count no other.
  platform::atomic<lock_choice> lock{lock_choice::prwlock};

  constexpr introspection(const char* of_version, const domain* all_domains,
                          const lock_statistics_roots* roots, std::size_t offset) noexcept
      : domains(all_domains), statistics(roots), core_offset(offset) {
    for (std::size_t i = 0; i + 1 < sizeof version && of_version[i] != '\0'; ++i) {
      version[i] = of_version[i];
    }
  }

  bool has_magic_of(const introspection& other) const noexcept {
    return std::memcmp(magic, other.magic, sizeof magic) == 0;
  }
  bool is_same_build(const introspection& other) const noexcept {
    return has_magic_of(other) && std::memcmp(version, other.version, sizeof version) == 0 &&
           std::memcmp(sizes, other.sizes, sizeof sizes) == 0;
  }
};

}  // namespace readmost::detail
