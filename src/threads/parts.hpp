// SPDX-License-Identifier: Apache-2.0
// The parts of the library: the hooks of each for the registration and exit of a thread and for
// fork(2). Through them the registry calls the rooms above it without depending on them.
#pragma once

#include <readmost/detail/threads/domain.hpp>
#include <type_traits>

namespace readmost::detail {

// Any hook may be null. Hooks neither allocate nor throw.
struct part {
  // Called when a domain's number is given out, which another domain may have had.
  void (*on_new_domain)(unsigned number) = nullptr;
  // Called in a thread that has just taken the record `me`.
  void (*on_enlist)(thread_record& me) = nullptr;
  // Called in an exiting thread, for each of its records: on_exit() while the thread is still a
  // member of the domain; on_departure() when its signal handlers no longer find the record, and no
  // other thread can take it yet.
  void (*on_exit)(thread_record& me) = nullptr;
  void (*on_departure)(thread_record& me) = nullptr;
  // Called in the thread that forks, one fork at a time. in_parent() follows before_fork().
  // in_child() is called even where before_fork() was not, because the fork of another thread took
  // too long or a signal handler forked amid these calls.
  void (*before_fork)() = nullptr;
  void (*in_parent)() = nullptr;
  void (*in_child)() = nullptr;

  platform::atomic<part*> next{};
  platform::atomic<std::uint32_t> is_added{};
};

// Every hook is called for the standing parts first, in the order of src/parts.cpp, then for the
// added ones, in the order in which they were added. Null ends the list.
extern part* const standing_parts[];
extern platform::atomic<part*> first_added_part;

// Adds a part permanently; repeated calls are harmless. A part with something to do at a fork calls
// this from a constructor with the priority below, before there are threads: a child forked while
// another thread adds the part would miss it. Code that may run even before that constructor calls
// it itself.
void add_part(part& which) noexcept;

// Ahead of the program's own constructors, also in a program that is linked statically.
#define READMOST_EARLY __attribute__((constructor(101)))

template <class Visit>
void for_each_part(Visit visit) noexcept {
  for (part* const* standing = standing_parts; *standing != nullptr; ++standing) visit(**standing);
  for (part* added = first_added_part.load(platform::acquire); added != nullptr;
       added = added->next.load(platform::acquire)) {
    visit(*added);
  }
}

// Calls the hook of each part that has it.
template <class... Arguments>
void call_parts(void (*part::*hook)(Arguments...),
                std::type_identity_t<Arguments>... arguments) noexcept {
  for_each_part([&](const part& each) {
    if (each.*hook != nullptr) (each.*hook)(arguments...);
  });
}

// A part that only needs the gate closed while the process forks.
template <gate& Of>
inline constinit bool is_closed_for_fork = false;
template <gate& Of>
inline constinit part closed_at_fork{.before_fork = [] { is_closed_for_fork<Of> = Of.try_close(); },
                                     .in_parent =
                                         [] {
                                           if (is_closed_for_fork<Of>) Of.open();
                                         },
                                     .in_child = [] { Of.open_in_child(); }};

// In a child: does not write to a word that need not change, so its page need not be copied.
template <class Value>
void clear_where_set(platform::atomic<Value>& word) noexcept {
  if (word.load(platform::relaxed) != Value{}) word.store(Value{}, platform::relaxed);
}

}  // namespace readmost::detail
