// SPDX-License-Identifier: Apache-2.0
// Makes memory run out where a test wants it to.
#pragma once

#include <cstddef>

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
