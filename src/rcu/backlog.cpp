#include "rcu/backlog.hpp"

namespace readmost::detail {

namespace {

constexpr std::uint64_t longest_throttle = 100'000'000;

}  // namespace

void throttle(domain& d, reclamation& r) noexcept {
  if (is_executor(d) || is_in_section(number_of(d))) return;
  const platform::deadline until = platform::in(longest_throttle);
  if (!runs(r)) {
    // Without waiting for the grace period: its reader may never leave. Another thread may be the
    // executor.
    for (;;) {
      reclaim_in_place(d, r, false);
      if (is_well_below_limit(r) || platform::time_left(until) == 0) return;
      go_offline();
      platform::sleep_for(between_looks);
    }
  }
  r.throttled.fetch_add(1, platform::relaxed);
  // Announced before the futex call reads the number; the call executes a full fence of its own:
  // see (Y7).
  for (;;) {
    // (Y16) Before the account is read. Pairs with (Y15).
    const std::uint32_t some = r.reclaimed_some.load(at(letter::Y16, platform::acquire));
    wake_reclaimer(r);
    if (is_well_below_limit(r)) break;
    go_offline();
    if (platform::futex_wait(platform::futex_of(r.reclaimed_some), some, ~0U, &until) ==
        platform::wake_reason::timed_out) {
      break;
    }
  }
  r.throttled.fetch_sub(1, platform::relaxed);
}

}  // namespace readmost::detail
