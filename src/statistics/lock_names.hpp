// SPDX-License-Identifier: Apache-2.0
// The locks that can serve a program's pthread_rwlock_t, by the names of READMOST_LOCK and of the
// command's options: Readmost's own, glibc's, and the rivals'.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace readmost::detail {

inline constexpr std::array<std::string_view, 18> lock_names{
    "prwlock", "pthread",       "ba",       "pf-t",          "per-cpu",     "cohort-rw",
    "brlock",  "brlock-flags",  "rmlock",   "percpu-rwlock", "c-snzi",      "tlrw",
    "stamped", "bravo-pthread", "bravo-ba", "bravo-prwlock", "bravo-mutex", "bravo-consensus"};

// A lock by its index in the list.
enum class lock_choice : unsigned char { prwlock, pthread };

constexpr std::string_view name_of(lock_choice lock) noexcept {
  return lock_names[static_cast<std::size_t>(lock)];
}

// The name of the server of locks, for messages.
constexpr std::string_view server_of(lock_choice lock) noexcept {
  return lock == lock_choice::pthread ? "glibc" : name_of(lock);
}

}  // namespace readmost::detail
