// A gate that who moves lists closes, and a thread that forks: a child must not find them half
// moved. Its orders have no letters, for the checker simulates no processes.
#pragma once

#include <readmost/platform.hpp>

namespace readmost {

class gate {
 public:
  // False when it has been closed for a second: the caller may be a signal handler that forks and
  // has interrupted who closed it. Nobody else keeps it so long, even where it shares its CPU.
  bool try_close() noexcept {
    if (closed_.exchange(1, platform::acquire) == 0) return true;
    const platform::deadline until = platform::in(longest_wait);
    do {
      platform::yield();
      if (closed_.exchange(1, platform::acquire) == 0) return true;
    } while (platform::time_left(until) != 0);
    return false;
  }
  void open() noexcept { closed_.store(0, platform::release); }

 private:
  static constexpr std::uint64_t longest_wait = 1'000'000'000;
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

}  // namespace readmost
