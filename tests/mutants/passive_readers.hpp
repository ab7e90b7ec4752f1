// SPDX-License-Identifier: Apache-2.0
// Included in include/readmost/detail/lock/rwlock.hpp, in its namespace.

// check_before_publish. On TSO a store may stay in the store buffer for as long as no fence drains
// it, but in practice it is gone within nanoseconds: native readers yield in between, so that the
// window is wide enough to hit. The checker finds a window however narrow it is.
inline bool look_and_publish(const rwlock& lock, const thread_record& me,
                             platform::atomic<std::uintptr_t>& slot, std::uint64_t bias) noexcept {
  const bool open = (lock.state.load(at(letter::C, platform::acquire)) & bias) != 0;
  const bool online = is_online(me) || is_mutant(mutant::online_without_fence);
#if !defined(READMOST_SIMULATED)
  platform::yield();
#endif
  slot.store(address(lock), at(letter::A, platform::release));
  return open && online;
}
