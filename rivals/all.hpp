// SPDX-License-Identifier: Apache-2.0
// The rivals that are reader-writer locks, by the names that READMOST_LOCK, the benchmarks and
// their report use.
#pragma once

#include "rivals/brlock_flags.hpp"
#include "rivals/brlock_mutexes.hpp"
#include "rivals/cohort_rwlock.hpp"
#include "rivals/csnzi_rwlock.hpp"
#include "rivals/per_cpu_lock.hpp"
#include "rivals/percpu_rwlock.hpp"
#include "rivals/pf_q.hpp"
#include "rivals/pf_t.hpp"
#include "rivals/rmlock.hpp"
#include "rivals/stamped_lock.hpp"
#include "rivals/tlrw_byte_lock.hpp"

namespace rivals {

// Calls use.template operator()<Lock>(name) for each of them.
template <class Use>
constexpr void for_each_rival(Use&& use) {
  use.template operator()<pf_q>("ba");
  use.template operator()<pf_t>("pf-t");
  use.template operator()<per_cpu_lock>("per-cpu");
  use.template operator()<cohort_rwlock>("cohort-rw");
  use.template operator()<brlock_mutexes>("brlock");
  use.template operator()<brlock_flags>("brlock-flags");
  use.template operator()<rmlock>("rmlock");
  use.template operator()<percpu_rwlock>("percpu-rwlock");
  use.template operator()<csnzi_rwlock>("c-snzi");
  use.template operator()<tlrw_byte_lock>("tlrw");
  use.template operator()<stamped_lock>("stamped");
}

}  // namespace rivals
