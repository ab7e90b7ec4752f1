// SPDX-License-Identifier: Apache-2.0
// The timed members of std::shared_timed_mutex, and of upgrade.
#pragma once

#include <chrono>
#include <readmost/detail/lock/basic_shared_mutex.hpp>
#include <type_traits>

namespace readmost::detail {

// The kernel's form of a point in time of a standard clock. Clamps points before the epoch or
// beyond the range of a timespec.
template <class Duration>
platform::deadline kernel_deadline(clockid_t clock, Duration since_epoch) noexcept {
  using std::chrono::duration;
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  using std::chrono::seconds;
  constexpr std::int64_t furthest = std::int64_t{1} << 40;
  if (since_epoch <= Duration::zero()) return {clock, {0, 0}};
  if (duration<double>(since_epoch).count() >= static_cast<double>(furthest)) {
    return {clock, {furthest, 0}};
  }
  const auto whole = std::chrono::floor<seconds>(since_epoch);
  // Rounded up: a wait may be a little too long, but not too short.
  const auto rest = std::chrono::ceil<nanoseconds>(since_epoch - whole);
  const auto carried = rest.count() / 1'000'000'000;
  return {clock,
          {static_cast<time_t>(whole.count() + carried),
           static_cast<long>(rest.count() % 1'000'000'000)}};
}

// Adds the members with a deadline to basic_shared_mutex. Each takes a lock that is available even
// if the deadline has passed; otherwise it returns false at the deadline, never before it. Waits by
// std::chrono::system_clock follow changes of the wall clock; any clock other than that and
// steady_clock is read again at the end of each wait.
template <class Membership>
class basic_shared_timed_mutex : public basic_shared_mutex<Membership> {
  using base = basic_shared_mutex<Membership>;

 public:
  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) noexcept {
    return this->try_lock_fast() || locks_until(from_now(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& end) noexcept {
    static_assert(std::chrono::is_clock_v<Clock>, "the time point is not one of a clock");
    return this->try_lock_fast() || locks_until(end);
  }

  template <class Rep, class Period>
  [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait) noexcept {
    return this->try_lock_shared_fast() || shares_until(from_now(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_lock_shared_until(
      const std::chrono::time_point<Clock, Duration>& end) noexcept {
    static_assert(std::chrono::is_clock_v<Clock>, "the time point is not one of a clock");
    return this->try_lock_shared_fast() || shares_until(end);
  }

  // As upgrade(), but gives up at the deadline; the hold is then shared as before.
  template <class Rep, class Period>
  [[nodiscard]] bool try_upgrade_for(const std::chrono::duration<Rep, Period>& wait) noexcept {
    return try_upgrade_until(from_now(wait));
  }
  template <class Clock, class Duration>
  [[nodiscard]] bool try_upgrade_until(
      const std::chrono::time_point<Clock, Duration>& end) noexcept {
    static_assert(std::chrono::is_clock_v<Clock>, "the time point is not one of a clock");
    return acquires_until(
        end, [this](const rules& how) { return readmost::detail::upgrade(this->core_, how); });
  }

 protected:
  using base::base;
  ~basic_shared_timed_mutex() = default;

 private:
  using steady = std::chrono::steady_clock;
  using wall = std::chrono::system_clock;

  template <class Rep, class Period>
  static steady::time_point from_now(const std::chrono::duration<Rep, Period>& wait) noexcept {
    using std::chrono::duration;
    const steady::time_point now = steady::now();
    if (wait <= wait.zero()) return now;
    // Compared as floating point, in which no unit overflows.
    if (duration<double>(wait) >= duration<double>(steady::time_point::max() - now)) {
      return steady::time_point::max();
    }
    return now + std::chrono::ceil<steady::duration>(wait);
  }

  // The time left by a clock of the program; never negative. The difference of two of its time
  // points may overflow its unit, which only floating point can tell.
  template <class Clock, class Duration>
  static auto time_left(const std::chrono::time_point<Clock, Duration>& end) noexcept {
    using left = decltype(end - Clock::now());
    using seconds = std::chrono::duration<double>;
    const auto now = Clock::now();
    const seconds roughly = seconds(end.time_since_epoch()) - seconds(now.time_since_epoch());
    if (roughly <= seconds(-1)) return left::zero();
    if (roughly >= seconds(left::max())) return left::max();
    return end <= now ? left::zero() : left(end - now);
  }

  template <class Clock, class Duration>
  bool locks_until(const std::chrono::time_point<Clock, Duration>& end) noexcept {
    return acquires_until(
        end, [this](const rules& how) { return lock_exclusive_slow(this->core_, how); });
  }

  template <class Clock, class Duration>
  bool shares_until(const std::chrono::time_point<Clock, Duration>& end) noexcept {
    return acquires_until(end,
                          [this](const rules& how) { return lock_shared_slow(this->core_, how); });
  }

  template <class Clock, class Duration, class Operation>
  bool acquires_until(const std::chrono::time_point<Clock, Duration>& end,
                      Operation operation) noexcept {
    if constexpr (std::is_same_v<Clock, steady> || std::is_same_v<Clock, wall>) {
      return wait_until(end, operation) == outcome::acquired;
    } else {
      for (;;) {
        const outcome result = wait_until(from_now(time_left(end)), operation);
        if (result != outcome::timed_out) return result == outcome::acquired;
        if (time_left(end) <= time_left(end).zero()) return false;
      }
    }
  }

  template <class Clock, class Duration, class Operation>
  outcome wait_until(const std::chrono::time_point<Clock, Duration>& end,
                     Operation operation) noexcept {
    const platform::deadline until = kernel_deadline(
        std::is_same_v<Clock, steady> ? CLOCK_MONOTONIC : CLOCK_REALTIME, end.time_since_epoch());
    const rules how = before(this->core_.own_rules(), until);
    outcome result;
    while ((result = operation(how)) == outcome::overflow) {
      if (platform::time_left(until) == 0) return outcome::timed_out;
      platform::yield();
    }
    return result;
  }
};

}  // namespace readmost::detail
