// SPDX-License-Identifier: Apache-2.0
// Where a program loses time to its locks: the call stacks of those who wait, and of those who take
// a bias away, weighed by nanoseconds. Kept in a table of fixed size, which other processes read:
// the command after the program's end, in a file, or meanwhile, in its memory. A fork's child
// shares its parent's table. Only the slow paths of locks write it, without allocation and without
// waiting.
//
// A wait that sleeps, and each delay of 50 us or more, is recorded by its own stack, as a rule
// before the sleep. Of shorter delays a thread takes the stack of one for about each 50 us of them
// together, with the weight of all since the last one.
#pragma once

#include <cstring>
#include <readmost/detail/statistics/lock_statistics_on.hpp>
#include <readmost/detail/threads/thread_record.hpp>

#include "statistics/lock_table.hpp"

namespace readmost::detail {

enum class delay_kind : std::uint32_t { read_wait, write_wait, revocation };
inline constexpr std::size_t delay_kinds = 3;

// A file that is mapped executable, and where.
struct profile_module {
  std::uintptr_t start{};
  std::uintptr_t end{};
  std::uint64_t offset{};  // in the file
  std::uint64_t inode{};
  char path[480]{};
};

struct profile_stack {
  static constexpr std::size_t depth = 40;

  // A fingerprint of all below; 0: free.
  alignas(platform::cache_line) platform::atomic<std::uint64_t> key{};
  counter nanoseconds{};
  counter events{};
  std::uintptr_t lock{};  // 0: of several
  delay_kind kind{};
  platform::atomic<std::uint32_t> count{};  // of the frames; 0 until all is there
  // Return addresses, innermost first, the library's own among them.
  std::uintptr_t frames[depth]{};
};

struct profile_table {
  static constexpr std::size_t capacity = 2048;  // a power of two
  static constexpr std::size_t most_modules = 256;
  static constexpr char expected_magic[16] = "readmost stacks";

  // These two come first in every version.
  char magic[16]{};
  std::uint64_t size{};  // of this structure

  std::uint64_t execution{};  // the program's, of which other copies of the library have tables too
  std::int32_t process{};
  platform::atomic<std::uint32_t> has_forked{};
  // The distance from the address of a program's lock up to that of the core's lock in it; 0 in a
  // library of classes.
  std::uint64_t core_offset{};
  platform::atomic<std::uint32_t> used{};  // stacks
  platform::atomic<std::uint32_t> modules_used{};
  // Delays without a place in the table.
  counter lost_nanoseconds[delay_kinds]{};
  counter lost_events[delay_kinds]{};
  profile_module modules[most_modules]{};
  profile_stack stacks[capacity]{};

  bool has_magic() const noexcept { return std::memcmp(magic, expected_magic, sizeof magic) == 0; }
};

// Null without a profile; never unmapped.
extern platform::atomic<profile_table*> contention_profile;

// Starts a profile, in a new file in the folder, or in memory for `readmost top` if that is null.
// False if the file cannot be made; without a profile then. Precondition: there is none yet.
bool start_contention_profile(const char* folder, std::size_t core_offset) noexcept;

inline profile_table* profile_in_force() noexcept {
  return contention_profile.load(platform::acquire);
}

// Removes the file if it says nothing, and no other process has it.
void end_contention_profile() noexcept;

// The caller's stack in the profile, to which a delay that begins now may be added at its end. Null
// if there is no room.
profile_stack* profiled_stack(profile_table& profile, std::uintptr_t lock,
                              delay_kind kind) noexcept;

// Adds a delay that has just ended. `stack`: its own if it is there already, else null.
void profile_delay(profile_table& profile, std::uintptr_t lock, delay_kind kind,
                   std::uint64_t nanoseconds, profile_stack* stack) noexcept;

}  // namespace readmost::detail
