// Included in src/lock/writers.cpp, in the class candidate.

// counts_before_slots
read_holds find_active_holds_first(domain& d, std::uint64_t round) const noexcept {
  const std::uint64_t state = lock_.state.load(at(letter::K2, platform::acquire));
  return {passive_holds(d, &lock_, me_, round), rwlock::readers(state)};
}

// clears_before_count
void mark_and_count() noexcept {
  mark_own_hold();
  lock_.state.fetch_add(rwlock::one_reader, platform::relaxed);
}
