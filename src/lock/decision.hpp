// SPDX-License-Identifier: Apache-2.0
// A writer that claims the lock checks for holds of other threads before it decides. That takes a
// bounded time if the thread keeps its CPU.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>
#include <readmost/detail/threads/spinning.hpp>

namespace readmost::detail {

// During its lifetime, signal handlers of the calling thread know that they cannot wait for the
// decision, and a fork's child knows that no thread will make it.
class decision {
 public:
  decision(thread_record* me, const rwlock& lock) noexcept : me_(me) {
    if (me_ != nullptr) {
      interrupted_ = me_->deciding.load(platform::relaxed);
      me_->deciding.store(address(lock), platform::relaxed);
    }
    platform::signal_fence();
  }
  ~decision() {
    platform::signal_fence();
    if (me_ != nullptr) me_->deciding.store(interrupted_, platform::relaxed);
  }
  decision(const decision&) = delete;
  decision& operator=(const decision&) = delete;

 private:
  thread_record* me_;
  std::uintptr_t interrupted_ = 0;  // the lock of a decision in which a signal handler runs
};

// Whether this is a signal handler that interrupted the very writer that is to decide.
inline bool is_deciding(const thread_record* me, const rwlock& lock) noexcept {
  return me != nullptr && me->deciding.load(platform::relaxed) == address(lock);
}

// A claim may yet be backed out, so a writer that only tries waits for the decision; but not long,
// because the claimant may be off its CPU. False when it is decided, or at the end of that time.
[[gnu::noinline]] inline bool awaits_decision(const rwlock& lock, const thread_record* me,
                                              std::uint64_t state) noexcept {
  constexpr std::uint32_t longest = 128;
  if ((state & rwlock::claiming) == 0 || is_deciding(me, lock)) return false;
  return spin_up_to(longest,
                    [&] { return (lock.state.load(platform::relaxed) & rwlock::claiming) == 0; });
}

}  // namespace readmost::detail
