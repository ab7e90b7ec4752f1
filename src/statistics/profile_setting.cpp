// SPDX-License-Identifier: Apache-2.0
#include "statistics/profile_setting.hpp"

#include <cstring>

#include "platform/choice.hpp"
#include "platform/text.hpp"
#include "statistics/contention_profile.hpp"
#include "threads/parts.hpp"

namespace readmost::detail {

// Here, because whoever needs it brings the constructor below into a program that the library is
// linked into.
constinit platform::atomic<profile_table*> contention_profile{nullptr};

__attribute__((weak)) bool starts_no_profile_early() noexcept {
  return false;
}

void start_profile_if_asked(const char* of, std::size_t core_offset) noexcept {
  char value[4096];
  if (!is_asked_for("READMOST_PROFILE", value, sizeof value)) return;
  const bool in_memory = std::strcmp(value, "1") == 0;
  if (start_contention_profile(in_memory ? nullptr : value, core_offset)) return;
  text_buffer complaint;
  complaint.add("readmost: no profile of %s is kept: cannot write %zu KB ", of,
                sizeof(profile_table) / 1024);
  if (in_memory) {
    complaint.add("of memory for READMOST_PROFILE=1; raise the limit of memory\n");
  } else {
    complaint.add("into the folder READMOST_PROFILE=");
    complaint.add_shown(value);
    complaint.add("; name one that this program may write, or 1\n");
  }
  platform::write_text(nullptr, complaint.data(), complaint.length());
}

// The simulated machines have neither an environment nor memory outside a run.
#if !defined(READMOST_SIMULATED)
namespace {

READMOST_EARLY void start_early() noexcept {
  if (!starts_no_profile_early()) start_profile_if_asked("Readmost's classes", 0);
}

__attribute__((destructor)) void end_profile() noexcept {
  end_contention_profile();
}

}  // namespace
#endif

}  // namespace readmost::detail
