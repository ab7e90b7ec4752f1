// SPDX-License-Identifier: Apache-2.0
// A mutex of one futex word (Drepper, Futexes are tricky): 0 free, 1 locked, 2 locked and a thread
// may be asleep.
#include "catalogue.hpp"
#include "scenarios/classic/fences.hpp"

namespace readmost::model {

namespace {

using word = platform::atomic<std::uint32_t>;
constexpr std::uint32_t everybody = ~0U;

void lock(word& state) {
  std::uint32_t seen = 0;
  if (state.compare_exchange_strong(seen, 1, platform::acquire)) return;
  while (state.exchange(2, platform::acquire) != 0) {
    platform::futex_wait(platform::futex_of(state), 2, everybody, nullptr);
  }
}

void unlock(word& state) {
  if (state.exchange(0, platform::release) == 2) {
    platform::futex_wake(platform::futex_of(state), 1, everybody);
  }
}

// The store overwrites the mark of a thread that falls asleep after the load.
void unlock_without_looking_back(word& state) {
  const bool contended = state.load(platform::relaxed) == 2;
  state.store(0, platform::release);
  if (contended) platform::futex_wake(platform::futex_of(state), 1, everybody);
}

// Forgets, once woken, that others may still be asleep.
void lock_as_the_only_sleeper(word& state) {
  std::uint32_t seen = 0;
  while (!state.compare_exchange_strong(seen, 1, platform::acquire)) {
    if (seen == 2 || state.compare_exchange_strong(seen, 2, platform::relaxed)) {
      platform::futex_wait(platform::futex_of(state), 2, everybody, nullptr);
    }
    seen = 0;
  }
}

void count_under(scenario& s, void (*lock)(word&), void (*unlock)(word&), unsigned threads) {
  auto& state = s.make<word>("mutex", 0U);
  auto& data = s.make<platform::variable<unsigned>>("data");
  for (unsigned i = 0; i < threads; ++i) {
    constexpr const char* names[] = {"first", "second", "third"};
    s.thread(names[i], [&, lock, unlock] {
      lock(state);
      ++data;
      unlock(state);
    });
  }
  s.finally([&, threads] {
    expect(data.get() == threads, "each thread has counted");
    expect(state.load(platform::relaxed) == 0, "the mutex is free");
  });
}

}  // namespace

BROKEN_SCENARIO(mutex_that_overwrites_sleepers, "a store over a word that changed wakes nobody",
                effort::small, lost_wake_up, under_all) {
  count_under(s, lock, unlock_without_looking_back, 2);
}

BROKEN_SCENARIO(mutex_that_forgets_sleepers, "a woken thread locks as if no other thread slept",
                effort::small, lost_wake_up, under_all) {
  count_under(s, lock_as_the_only_sleeper, unlock, 3);
}

SCENARIO(mutex_of_a_futex, "two threads that lock and unlock never sleep for ever", effort::small) {
  count_under(s, lock, unlock, 2);
}

SCENARIO(mutex_of_a_futex_for_three, "both of two sleeping threads are woken", effort::small) {
  count_under(s, lock, unlock, 3);
}

}  // namespace readmost::model
