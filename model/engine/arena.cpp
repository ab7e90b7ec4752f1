// SPDX-License-Identifier: Apache-2.0
#include "engine/arena.hpp"

#include <sys/mman.h>

#include <new>
#include <stdexcept>
#include <string>

namespace readmost::model {

arena::arena(std::uintptr_t at, std::size_t bytes) {
  void* const pages = mmap(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  begin_ = next_ = reinterpret_cast<std::uintptr_t>(pages);
  end_ = begin_ + bytes;
}

arena::~arena() {
  munmap(reinterpret_cast<void*>(begin_), end_ - begin_);
}

void arena::exhausted() const {
  throw std::length_error("an execution needs more than " + std::to_string(end_ - begin_) +
                          " bytes: make the scenario smaller");
}

}  // namespace readmost::model
