// SPDX-License-Identifier: Apache-2.0
// A lock in one of the states for which a rule is checked.
#pragma once

#include <gtest/gtest.h>

#include "locks.hpp"

namespace contract {

// Failures in its scope name the variant; the lock must be ready to be destroyed when the scope
// ends.
class prepared_lock {
 public:
  explicit prepared_lock(const variant& v) : trace_(__FILE__, __LINE__, testing::PrintToString(v)) {
    prepare(&lock_, v);
  }
  prepared_lock(const prepared_lock&) = delete;
  prepared_lock& operator=(const prepared_lock&) = delete;
  ~prepared_lock() { EXPECT_EQ(pthread_rwlock_destroy(&lock_), 0); }

  operator pthread_rwlock_t*() { return &lock_; }

 private:
  testing::ScopedTrace trace_;
  pthread_rwlock_t lock_;
};

}  // namespace contract
