// The locks that the benchmarks compare. Those of other libraries are there if the build found
// them.
#pragma once

#include <readmost/shared_mutex.hpp>
#include <shared_mutex>

#include "holder.hpp"
#include "pthread_lock.hpp"
#if defined(BENCH_HAS_ABSL)
#include "absl_lock.hpp"
#endif
#if defined(BENCH_HAS_BOOST)
#include "boost_lock.hpp"
#endif
#if defined(BENCH_HAS_CK)
#include "ck_locks.hpp"
#endif
#if defined(BENCH_HAS_TBB)
#include "tbb_locks.hpp"
#endif

namespace bench {

// The loop around the lock, and nothing else.
class no_lock {
 public:
  void lock() { asm volatile("" ::: "memory"); }
  void unlock() { asm volatile("" ::: "memory"); }
  void lock_shared() { asm volatile("" ::: "memory"); }
  void unlock_shared() { asm volatile("" ::: "memory"); }
};

// Calls use.operator()<Lock>(name) for each lock of a library other than ours and the C library.
template <class Use>
void for_each_library_lock(Use use) {
  use.template operator()<std::shared_mutex>("std::shared_mutex");
#if defined(BENCH_HAS_BOOST)
  use.template operator()<boost::upgrade_mutex>("boost::upgrade_mutex");
#endif
#if defined(BENCH_HAS_ABSL)
  ignore_deadlocks();
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

// For each lock, those that lock nothing left out.
template <class Use>
void for_each_real_lock(Use use) {
  use.template operator()<readmost::shared_mutex>("readmost::shared_mutex");
  use.template operator()<pthread_lock>("pthread_rwlock");
  for_each_library_lock(use);
}

// The same, and first what the measuring itself costs.
template <class Use>
void for_each_lock(Use use) {
  use.template operator()<no_lock>("empty");
  for_each_real_lock(use);
}

}  // namespace bench
