// fork(2): what the parts of the library do at it, one fork at a time.
#pragma once

#include <readmost/detail/platform/platform.hpp>
#include <readmost/detail/threads/gate.hpp>

namespace readmost::detail {

// A part that has something to put in order. Each that is not null is called in the thread that
// forks: in_parent() where before() was; in_child() always, and it has to do without before(), for
// that is not called where the fork of another thread takes too long, or where a signal handler
// forks amid these calls.
struct fork_part {
  void (*before)();
  void (*in_parent)();
  void (*in_child)();
  platform::atomic<fork_part*> next{};
  platform::atomic<std::uint32_t> is_watched{};
};

// Takes part in all forks from now on, behind those that do already. Every part calls it from a
// constructor with the priority below, so before there are threads: a child that one of them forks
// while another registers would go without. What comes even before that calls it itself.
void add_fork_part(fork_part& part) noexcept;
inline void watch_forks(fork_part& part) noexcept {
  if (part.is_watched.load(platform::relaxed) == 0) add_fork_part(part);
}

// That of src/threads/registry.cpp, called before all others: it puts the records in order.
extern fork_part domains_at_fork;

// The part of what needs no more than that nobody else is behind this gate at the fork.
template <gate& Of>
inline constinit bool is_closed_for_fork = false;
template <gate& Of>
inline constinit fork_part closed_at_fork{.before = [] { is_closed_for_fork<Of> = Of.try_close(); },
                                          .in_parent =
                                              [] {
                                                if (is_closed_for_fork<Of>) Of.open();
                                              },
                                          .in_child = [] { Of.open_in_child(); }};

// In a child: what is only read of the parent's memory need not be copied.
template <class Value>
void clear_where_set(platform::atomic<Value>& word) noexcept {
  if (word.load(platform::relaxed) != Value{}) word.store(Value{}, platform::relaxed);
}

// Ahead of the program's own constructors, also in a program that is linked statically.
#define READMOST_EARLY __attribute__((constructor(101)))

}  // namespace readmost::detail
