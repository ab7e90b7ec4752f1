// SPDX-License-Identifier: Apache-2.0
// Included in src/rcu/executor.cpp, in its unnamed namespace.

// forgets_a_queue. `first`: where the list begins, which is not left empty.
platform::variable<retired*>* append_all_queues_but_the_last(
    chunk& c, platform::variable<retired*>* tail, platform::variable<retired*>* first) noexcept {
  for (std::uint64_t left = c.retiring.exchange(0, at(letter::Y5, platform::acquire)); left != 0;
       left &= left - 1) {
    if ((left & (left - 1)) == 0 && tail != first) {
      c.retiring.fetch_or(left, platform::relaxed);
      break;
    }
    tail = append_oldest_first(c.records[__builtin_ctzll(left)].retired_latest, tail);
  }
  return tail;
}
