// SPDX-License-Identifier: Apache-2.0
#include "engine/fiber.hpp"

#include <sys/mman.h>

#include <new>

namespace readmost::model {

namespace context = boost::context::detail;

namespace {

constexpr std::size_t guard_size = 4096;

struct switched {
  fiber* to;
  context::fcontext_t* from;
};

}  // namespace

fiber::fiber() {
  void* const pages = mmap(nullptr, stack_size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  mprotect(pages, guard_size, PROT_NONE);
  stack_ = static_cast<char*>(pages);
}

fiber::~fiber() {
  munmap(stack_, stack_size);
}

void fiber::start(void (*entry)(void*), void* argument) noexcept {
  entry_ = entry;
  argument_ = argument;
  context_ = context::make_fcontext(stack_ + stack_size, stack_size - guard_size, begin);
}

void fiber::begin(context::transfer_t handed) {
  const auto& how = *static_cast<switched*>(handed.data);
  fiber& self = *how.to;
  *how.from = handed.fctx;
  self.entry_(self.argument_);
  __builtin_unreachable();
}

void fiber::resume(fiber& from) noexcept {
  switched how{this, &from.context_};
  const context::transfer_t handed = context::jump_fcontext(context_, &how);
  // A fiber has switched back to `from`, and passes on where it has stopped.
  *static_cast<switched*>(handed.data)->from = handed.fctx;
}

}  // namespace readmost::model
