// SPDX-License-Identifier: Apache-2.0
// readmost::shared_timed_mutex: std::shared_timed_mutex whose readers do not disturb one another.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <readmost/detail/lock/basic_shared_timed_mutex.hpp>

namespace readmost {

// readmost::shared_mutex with the timed members of std::shared_timed_mutex and with
// try_upgrade_for() and try_upgrade_until(). Same size, guarantees and costs; a wait with a
// deadline reads the clock once more.
class shared_timed_mutex : public detail::basic_shared_timed_mutex<detail::in_default_domain> {
 public:
  constexpr shared_timed_mutex() noexcept : shared_timed_mutex(preference::writer) {}
  constexpr explicit shared_timed_mutex(preference prefers) noexcept
      : basic_shared_timed_mutex(prefers) {}
};
static_assert(sizeof(shared_timed_mutex) == 16);

}  // namespace readmost
