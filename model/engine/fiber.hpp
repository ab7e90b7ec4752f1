// SPDX-License-Identifier: Apache-2.0
// The stack of a simulated thread, which runs until it switches to another.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace readmost::model {

// Boost.Context's own fiber class unwinds the stack of a fiber that has not finished. The code that
// runs here is mostly `noexcept`, and most executions abandon it, so this class uses the layer
// below: start() discards what is on the stack.
class fiber {
 public:
  fiber();
  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  // The next switch here calls `entry(argument)`, which must not return.
  void start(void (*entry)(void*), void* argument) noexcept;

  // Switches from the running fiber `from` to this one; returns when a fiber switches back.
  void resume(fiber& from) noexcept;

 private:
  static void begin(boost::context::detail::transfer_t handed);

  static constexpr std::size_t stack_size = 256 * 1024;

  char* stack_;
  boost::context::detail::fcontext_t context_ = nullptr;
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
};

}  // namespace readmost::model
