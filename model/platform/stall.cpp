// SPDX-License-Identifier: Apache-2.0
// The checker finds what waits for ever by itself.
#include "rcu/stall.hpp"

namespace readmost::detail {

std::uint64_t stall_limit() noexcept {
  return 0;
}
void warn_of_stalls_after(std::uint64_t) noexcept {}
void warn_of_stall(domain&, const thread_record*, std::uint64_t) noexcept {}
void warn_of_slow_deleters(const domain&, const retired_kind* const*, unsigned, std::uint64_t,
                           bool) noexcept {}
void warn_of_running_deleter(const domain&, const retired_kind*, std::uint64_t, bool) noexcept {}
void warn_of_backlog(domain&) noexcept {}
void tell_stalls_of_backlog(rcu_statistics (*)(domain&) noexcept) noexcept {}

}  // namespace readmost::detail
