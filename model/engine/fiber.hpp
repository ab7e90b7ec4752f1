// A stack of its own on which a simulated thread runs until it hands over to another.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>

namespace readmost::model {

// Boost.Context's own fiber class unwinds the stack of a fiber that is not run to its end. What
// runs here is `noexcept` for the most part and is abandoned in most executions, so this uses the
// layer below: start() again on the same stack forgets what was on it.
class fiber {
 public:
  fiber();
  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  // The next switch here calls `entry(argument)`, which must not return.
  void start(void (*entry)(void*), void* argument) noexcept;

  // From the fiber `from`, which is running, to this one; returns when somebody switches back.
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
