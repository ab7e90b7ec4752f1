// SPDX-License-Identifier: Apache-2.0
// Makes memory run out where a test wants it to.
#pragma once

#include <cstddef>

#include "support/sanitizers.hpp"

// clang's ThreadSanitizer lets nobody else define `operator new`.
#if UNDER_THREAD_SANITIZER && defined(__clang__)
#define MEMORY_CAN_RUN_OUT 0
#else
#define MEMORY_CAN_RUN_OUT 1
#endif
#define SKIP_WHERE_MEMORY_CANNOT_RUN_OUT() \
  if (!MEMORY_CAN_RUN_OUT) GTEST_SKIP() << "the sanitizer's own operator new cannot be replaced"

namespace test {

// While there is one, `new` of more than so many bytes throws std::bad_alloc in this thread.
class allocation_limit {
 public:
  explicit allocation_limit(std::size_t most) noexcept;
  ~allocation_limit();
  allocation_limit(const allocation_limit&) = delete;
  allocation_limit& operator=(const allocation_limit&) = delete;
};

}  // namespace test
