// A gate that who moves lists closes, and a thread that forks: a child must not find them half
// moved. Its orders have no letters, for the checker simulates no processes.
#pragma once

#include <readmost/platform.hpp>

namespace readmost {

class gate {
 public:
  // False when it has been closed for too long: the caller may be a signal handler that forks and
  // has interrupted who closed it.
  bool try_close() noexcept {
    for (std::uint32_t turn = 0; turn < most_turns; ++turn) {
      if (closed_.exchange(1, platform::acquire) == 0) return true;
      platform::yield();
    }
    return false;
  }
  void open() noexcept { closed_.store(0, platform::release); }

 private:
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

}  // namespace readmost
