// SPDX-License-Identifier: Apache-2.0
// Scenarios in which threads park: a lost wake-up stops the whole round, and the watchdog detects
// it.
#pragma once

#include <barrier>

#include "sections.hpp"

namespace torture {

// In every round one thread holds the lock until the others have had time to park; then all of them
// must get through before the next round begins.
template <class Lock>
void parked(session& run) {
  enum class holding { for_writing, for_reading, not_at_all };
  struct {
    bool last = false;
    unsigned holder = 0;
    holding how = holding::not_at_all;
    unsigned warm_up = 0;
    std::atomic<bool> taken{false};
  } plan;
  cell<Lock> guarded;
  random_source random(run.chosen().seed);
  std::barrier gate(static_cast<std::ptrdiff_t>(run.threads()), [&]() noexcept {
    plan.last = !run.running();
    plan.holder = random.below(run.threads());
    plan.how = static_cast<holding>(random.below(3));
    plan.warm_up = random.one_in(4) ? 300 : 0;
    plan.taken.store(plan.how == holding::not_at_all, std::memory_order_relaxed);
  });
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      for (;;) {
        gate.arrive_and_wait();
        if (plan.last) return;
        for (unsigned left = plan.warm_up; left > 0; --left) read(me, guarded);
        const auto keep_the_others_waiting = [&] {
          plan.taken.store(true, std::memory_order_release);
          sleep_microseconds(me.random.between(20, 300));
        };
        if (me.index() == plan.holder && plan.how != holding::not_at_all) {
          plan.how == holding::for_writing ? write(me, guarded, keep_the_others_waiting)
                                           : read(me, guarded, keep_the_others_waiting);
          continue;
        }
        while (!plan.taken.load(std::memory_order_acquire)) std::this_thread::yield();
        for (unsigned left = me.random.between(1, 3); left > 0; --left)
          me.random.one_in(3) ? write(me, guarded) : read(me, guarded);
      }
    });
  }
  run.join();
}

// Two readers wait for each other inside the section while writers queue: under reader preference
// the second one must be let in.
template <class Lock>
void rendezvous(session& run) {
  cell<Lock> guarded;
  alignas(64) std::atomic<std::uint64_t> arrived{0};
  alignas(64) std::atomic<std::uint64_t> last_round{~std::uint64_t{0}};
  for (unsigned i = 0; i < 2; ++i) {
    run.spawn([&, leads = i == 0](worker& me) {
      for (std::uint64_t round = 0;; ++round) {
        if (leads && !run.running()) last_round.store(round);
        read(me, guarded, [&] {
          arrived.fetch_add(1);
          while (arrived.load() < 2 * (round + 1)) std::this_thread::yield();
        });
        if (last_round.load() == round) return;
        for (unsigned left = me.random.one_in(16) ? 300 : 0; left > 0; --left) read(me, guarded);
      }
    });
  }
  run.repeat(run.threads_but(2), [&](worker& me) {
    write(me, guarded);
    spin(me.random.below(20000));
  });
  run.join();
}

// Overlapping readers and queued writers run without a pause; one more reader and one more writer
// arrive only occasionally. The traffic continues until these two are through, so a starving thread
// waits at least as long as the bound, which exceeds every wait that a policy causes.
template <class Lock>
void longest_wait(session& run) {
  constexpr milliseconds bound(10'000);
  cell<Lock> guarded;
  // Preferred readers may keep a writer out for ever.
  std::atomic<unsigned> to_get_through{Lock::prefers_readers ? 1U : 2U};
  std::atomic<std::uint32_t> last_tick{0};
  const auto traffic_goes_on = [&] {
    if (run.running()) {
      last_tick.store(run.tick(), std::memory_order_relaxed);
      return true;
    }
    return to_get_through.load() != 0 &&
           (run.tick() - last_tick.load()) * session::tick_length < 2 * bound;
  };
  for (unsigned i = 2; i < run.threads(); ++i) {
    run.spawn([&, reads = i % 2 == 0](worker& me) {
      while (traffic_goes_on()) {
        if (reads) {
          read(me, guarded, [&me] { spin(me.random.below(20000)); });
        } else {
          write(me, guarded);
        }
      }
    });
  }
  for (const bool reads : {true, false}) {
    run.spawn([&, reads](worker& me) {
      while (run.running()) {
        sleep_microseconds(me.random.between(100, 2000));
        reads ? read(me, guarded) : write(me, guarded);
      }
      if (reads || !Lock::prefers_readers) to_get_through.fetch_sub(1);
    });
  }
  run.join();
  if (run.longest_read_wait() > bound) run.violation("it waited longer than 10 s", "a reader");
  if (!Lock::prefers_readers && run.longest_write_wait() > bound) {
    run.violation("it waited longer than 10 s", "a writer");
  }
}

}  // namespace torture
