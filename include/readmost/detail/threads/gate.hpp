// A gate that who moves lists closes, and a thread that forks: a child must not find them half
// moved. Its orders have no letters, for the checker simulates no processes.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

class gate {
 public:
  // False when it has been closed for a second and all these turns: the caller may be a signal
  // handler that forks and has interrupted who closed it, or another thread's fork takes long. Time
  // alone goes on while a process is stopped, and turns alone while others have the CPU.
  bool try_close() noexcept {
    if (closed_.exchange(1, platform::acquire) == 0) return true;
    const platform::deadline until = platform::in(longest_wait);
    for (std::uint32_t turn = 0; turn < most_turns || platform::time_left(until) != 0; ++turn) {
      platform::yield();
      if (closed_.exchange(1, platform::acquire) == 0) return true;
    }
    return false;
  }
  void open() noexcept { closed_.store(0, platform::release); }
  // In a fork's child, where nobody is that may have closed it. Does not write to one that is open:
  // memory that is only read need not be copied.
  void open_in_child() noexcept {
    if (closed_.load(platform::relaxed) != 0) open();
  }

 private:
  static constexpr std::uint64_t longest_wait = 1'000'000'000;
  static constexpr std::uint32_t most_turns = 10'000;
  platform::atomic<std::uint32_t> closed_{};
};

// Moves lists while in scope.
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
