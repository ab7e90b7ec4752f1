// A writer's claim is undecided while the writer checks for holds of other threads; `grant` is
// not_granted until then. The check takes a bounded time.
#pragma once

#include "lock/waiting.hpp"

namespace readmost::detail {

// During its lifetime, signal handlers of the calling thread know that they cannot wait for the
// decision, and a fork's child knows that no thread will make it.
class decision {
 public:
  decision(thread_record* me, const rwlock& lock) noexcept : me_(me) {
    if (me_ != nullptr) me_->deciding.store(address(lock), platform::relaxed);
    platform::signal_fence();
  }
  ~decision() {
    platform::signal_fence();
    if (me_ != nullptr) me_->deciding.store(0, platform::relaxed);
  }
  decision(const decision&) = delete;
  decision& operator=(const decision&) = delete;

 private:
  thread_record* me_;
};

// Whether this is a signal handler that interrupted the very writer that is to decide.
inline bool is_deciding(const thread_record* me, const rwlock& lock) noexcept {
  return me != nullptr && me->deciding.load(platform::relaxed) == address(lock);
}

// A claim may yet be backed out, so an operation that only tries spins until the claim is decided.
// False when it need not, or no longer can, wait for that.
[[gnu::noinline]] inline bool awaits_decision(const rwlock& lock, const thread_record* me,
                                              std::uint64_t state, spinner& spin) noexcept {
  return (state & rwlock::writing) != 0 &&
         lock.grant.load(platform::relaxed) == rwlock::not_granted && !is_deciding(me, lock) &&
         spin.spin_or_yield();
}

}  // namespace readmost::detail
