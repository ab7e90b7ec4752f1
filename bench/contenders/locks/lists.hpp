// SPDX-License-Identifier: Apache-2.0
// Which locks the benchmarks compare. The locks of other libraries are included if the build found
// those libraries.
#pragma once

#include <mutex>
#include <readmost/bravo.hpp>
#include <readmost/shared_mutex.hpp>
#include <rivals/pf_q.hpp>
#include <shared_mutex>

#include "contenders/locks/basic_locks.hpp"
#include "contenders/locks/library_holders.hpp"
#include "contenders/locks/preferring.hpp"

namespace bench {

// Each function calls use.operator()<Lock>(name) for each lock of its list.

// Our lock and the C library's.
template <class Use>
void for_each_system_lock(Use use) {
  use.template operator()<readmost::shared_mutex>("prwlock");
  use.template operator()<pthread_lock>("pthread");
}

// The same locks under the preferences that are not their default.
template <class Use>
void for_each_preferring_lock(Use use) {
  use.template operator()<preferring<readmost::preference::reader>>("prwlock-reader");
  use.template operator()<preferring<readmost::preference::phase_fair>>("prwlock-phase-fair");
  use.template operator()<writer_preferring_pthread_lock>("pthread-writer");
}

template <class Use>
void for_each_library_lock(Use use) {
  use.template operator()<std::shared_mutex>("std::shared_mutex");
#if defined(BENCH_HAS_BOOST)
  use.template operator()<boost::upgrade_mutex>("boost::upgrade_mutex");
#endif
#if defined(BENCH_HAS_ABSL)
  // Debian builds the library without NDEBUG. Its deadlock detector is on then and costs many times
  // the lock itself, which no release build would have.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  use.template operator()<absl::Mutex>("absl::Mutex");
#endif
#if defined(BENCH_HAS_TBB)
  use.template operator()<tbb::rw_mutex>("tbb::rw_mutex");
  use.template operator()<tbb::spin_rw_mutex>("tbb::spin_rw_mutex");
  use.template operator()<tbb::queuing_rw_mutex>("tbb::queuing_rw_mutex");
#endif
#if defined(BENCH_HAS_CK)
  use.template operator()<ck_writer_first_lock>("ck_rwlock");
  use.template operator()<ck_brlock_t>("ck_brlock");
  use.template operator()<ck_bytelock_t>("ck_bytelock");
  use.template operator()<ck_phase_fair_lock>("ck_pflock");
  use.template operator()<ck_task_fair_lock>("ck_tflock");
#endif
}

// BRAVO over other locks.
template <class Use>
void for_each_bravo_lock(Use use) {
  using readmost::bravo;
  use.template operator()<bravo<pthread_lock>>("bravo-pthread");
  use.template operator()<bravo<rivals::pf_q>>("bravo-ba");
  use.template operator()<bravo<readmost::shared_mutex>>("bravo-prwlock");
  use.template operator()<bravo<std::mutex>>("bravo-mutex");
  use.template operator()<bravo<pthread_lock, readmost::bravo_consensus_policy>>("bravo-consensus");
}

}  // namespace bench
