// SPDX-License-Identifier: Apache-2.0
// The checker finds misuse by itself, as a deadlock or as an access to a reclaimed object.
#include "rcu/misuse.hpp"

#include <readmost/detail/rcu/read_section.hpp>

namespace readmost::detail {

bool checks_misuse() noexcept {
  return false;
}
void diagnose_misuse(misuse, unsigned, const void*) noexcept {}
void check_dereference(unsigned) noexcept {}

std::uint64_t section_limit() noexcept {
  return 0;
}
void report_if_long(const thread_record&) noexcept {}

void note_entry(thread_record&, const void*) noexcept {}
void note_exit(thread_record&) noexcept {}

}  // namespace readmost::detail
