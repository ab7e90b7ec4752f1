// How long to spin before sleeping.
#pragma once

#include <readmost/domain.hpp>

namespace readmost {

class spinner {
 public:
  // One turn, during which rounds of others get their report; false when it is time to sleep.
  bool turn(thread_record* me, bool brief) noexcept {
    if (spent_ >= budget) return false;
    const std::uint32_t shortest = brief ? 1 : 256;
    const std::uint32_t longest = brief ? 16 : 512;
    pause_ *= 2;
    pause_ = pause_ < shortest ? shortest : pause_ > longest ? longest : pause_;
    for (std::uint32_t i = 0; i < pause_; ++i) {
      if (me != nullptr) report_if_asked(*me);
      platform::relax();
    }
    spent_ += pause_;
    return true;
  }

  // A turn of a wait that is bounded by somebody's next few instructions. False after a tenth of a
  // second: then that somebody is off its CPU, or a signal handler of its thread waits for us.
  bool short_turn(thread_record* me) noexcept {
    if (me != nullptr) report_if_asked(*me);
    if (++spent_ % 64 != 0) {
      platform::relax();
      return true;
    }
    platform::yield();
    if (started_ == 0) started_ = platform::now();
    return platform::now() - started_ < 100'000'000;
  }

  // After a sleep.
  void restart() noexcept { spent_ = pause_ = 0; }

 private:
  static constexpr std::uint32_t budget = 600;
  std::uint32_t spent_ = 0;
  std::uint32_t pause_ = 0;
  std::uint64_t started_ = 0;
};

}  // namespace readmost
