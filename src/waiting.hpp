// How long to spin before sleeping.
#pragma once

#include <readmost/domain.hpp>

namespace readmost {

class spinner {
 public:
  // One turn, during which rounds of others get their report; false when it is time to sleep.
  bool turn(thread_record* me) noexcept {
    if (me != nullptr) report_if_asked(*me);
    ++turns_;
    if (turns_ <= relax_turns) {
      platform::relax();
      return true;
    }
    if (turns_ <= relax_turns + yield_turns) {
      platform::yield();
      return true;
    }
    return false;
  }

  // A turn of a wait that is bounded by somebody's next few instructions.
  void short_turn(thread_record* me) noexcept {
    if (me != nullptr) report_if_asked(*me);
    if (++turns_ % relax_turns != 0) {
      platform::relax();
    } else {
      platform::yield();
    }
  }

  // After a sleep.
  void restart() noexcept { turns_ = 0; }

 private:
  static constexpr std::uint32_t relax_turns = 60;
  static constexpr std::uint32_t yield_turns = 2;
  std::uint32_t turns_ = 0;
};

}  // namespace readmost
