// SPDX-License-Identifier: Apache-2.0
// Notes in a thread's record for which lock it sleeps, for those who look from outside.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

namespace readmost::detail {

// Of one operation. The simulated machines leave it out: nobody looks at them from outside.
class sleep_note {
 public:
  sleep_note() noexcept = default;
  sleep_note(const sleep_note&) = delete;
  sleep_note& operator=(const sleep_note&) = delete;

#if defined(READMOST_SIMULATED)
  void take(thread_record*, const rwlock&, sleeps_as, rules) noexcept {}
#else
  ~sleep_note() {
    if (sleeper_ == nullptr) return;
    sleeper_->sleeps_since = interrupted_since_;
    sleeper_->sleeps_for = interrupted_;
  }

  // Before the thread sleeps. `me` may be null.
  void take(thread_record* me, const rwlock& lock, sleeps_as as, rules how) noexcept {
    if (me == nullptr || sleeper_ != nullptr) return;
    sleeper_ = me;
    interrupted_ = me->sleeps_for;
    interrupted_since_ = me->sleeps_since;
    me->sleeps_since = platform::now();
    me->sleeps_for = address(lock) | static_cast<std::uintptr_t>(as) |
                     (how.until != nullptr ? sleeps_until_deadline : 0);
  }

 private:
  thread_record* sleeper_ = nullptr;  // whose record has the note
  // The note of the operation that this one, in a signal handler, has interrupted.
  std::uintptr_t interrupted_ = 0;
  std::uint64_t interrupted_since_ = 0;
#endif
};

// Of a thread that is gone.
inline void forget_sleep(thread_record& record) noexcept {
#if defined(READMOST_SIMULATED)
  static_cast<void>(record);
#else
  record.sleeps_for = 0;
#endif
}

}  // namespace readmost::detail
