// SPDX-License-Identifier: Apache-2.0
#include "allocation_limit.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

thread_local std::size_t most_bytes = SIZE_MAX;

}  // namespace

namespace test {

allocation_limit::allocation_limit(std::size_t most) noexcept {
  most_bytes = most;
}

allocation_limit::~allocation_limit() {
  most_bytes = SIZE_MAX;
}

}  // namespace test

#if MEMORY_CAN_RUN_OUT
void* operator new(std::size_t bytes) {
  if (bytes > most_bytes) throw std::bad_alloc();
  if (void* const memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
#endif
