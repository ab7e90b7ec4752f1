// The reader-writer locks of oneTBB. rw_mutex sleeps, the others spin.
#pragma once

#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

#include <cstddef>

#include "holder.hpp"

namespace bench {

// Its threads queue with a node of their own.
template <>
class holder<tbb::queuing_rw_mutex> {
 public:
  static constexpr std::size_t thread_bytes = sizeof(tbb::queuing_rw_mutex::scoped_lock);

  explicit holder(tbb::queuing_rw_mutex& lock) : lock_(lock) {}

  void lock() { node_.acquire(lock_, true); }
  void unlock() { node_.release(); }
  void lock_shared() { node_.acquire(lock_, false); }
  void unlock_shared() { node_.release(); }

 private:
  tbb::queuing_rw_mutex& lock_;
  tbb::queuing_rw_mutex::scoped_lock node_;
};

}  // namespace bench
