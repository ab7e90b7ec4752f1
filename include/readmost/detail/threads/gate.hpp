// SPDX-License-Identifier: Apache-2.0
// Keeps lists from being moved while the process forks, so that the child does not find them half
// moved, or while another thread takes them over.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

class gate {
 public:
  // False if the gate stays closed for a second and 10,000 attempts: the caller may be a signal
  // handler that forks and has interrupted the thread that closed it, or another thread's fork
  // takes long. Time alone passes while the process is stopped, and attempts alone while other
  // threads have the CPU.
  bool try_close() noexcept {
    if (try_once()) return true;
    const platform::deadline until = platform::in(longest_wait);
    for (std::uint32_t turn = 0; turn < most_turns || platform::time_left(until) != 0; ++turn) {
      platform::yield();
      if (try_once()) return true;
    }
    return false;
  }
  // (GT2) Pairs with (GT1).
  void open() noexcept { closed_.store(0, platform::at(letter::GT2, platform::release)); }
  // In a fork's child, where the thread that closed it does not exist. Does not write to an open
  // gate, so that its page need not be copied.
  void open_in_child() noexcept {
    if (closed_.load(platform::relaxed) != 0) open();
  }

 private:
  // (GT1) Pairs with (GT2): the lists are as whoever closed it before has left them.
  bool try_once() noexcept {
    return closed_.exchange(1, platform::at(letter::GT1, platform::acquire)) == 0;
  }

  static constexpr std::uint64_t longest_wait = 1'000'000'000;
  static constexpr std::uint32_t most_turns = 10'000;
  platform::atomic<std::uint32_t> closed_{};
};

// Closes the gate while in scope.
class closed_gate {
 public:
  explicit closed_gate(gate& of) noexcept : gate_(of) {
    while (!gate_.try_close()) {
    }
  }
  ~closed_gate() { gate_.open(); }
  closed_gate(const closed_gate&) = delete;
  closed_gate& operator=(const closed_gate&) = delete;

 private:
  gate& gate_;
};

}  // namespace readmost::detail
