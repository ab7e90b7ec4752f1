// SPDX-License-Identifier: Apache-2.0
// Included in src/lock/writers.cpp, in the class candidate.

// counts_before_slots
bool decide_by_old_count(domain& d, std::uint64_t round, std::int64_t& passive) noexcept {
  std::uint64_t state = lock_.state.load(at(letter::K2, platform::acquire));
  const std::uint64_t counted = rwlock::readers(state);
  passive = passive_holds(d, &lock_, me_, round);
  state = lock_.state.load(platform::relaxed);
  while (nobody_else_inside(passive, counted)) {
    if (enter(state, as_writing(state), at(letter::K2, platform::acquire))) return true;
  }
  return false;
}

// silent_conversion
void clear_own_slot() noexcept {
  for_each_slot(*me_, [&](auto& slot, std::size_t) {
    if (slot.load(platform::relaxed) == address(lock_)) {
      slot.store(0, at(letter::D, platform::release));
    }
    return true;
  });
}
