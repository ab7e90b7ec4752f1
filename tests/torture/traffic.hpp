// SPDX-License-Identifier: Apache-2.0
// Scenarios with different shares of reads and writes: mixtures, bursts, hot and cold readers, many
// locks, tries and deadlines, more threads than processors.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <memory>
#include <vector>

#include "sections.hpp"

namespace torture {

// One operation in Ratio is a write, except in the read-only phases.
template <class Lock, unsigned Ratio>
void mixed(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads(), [&](worker& me) {
    if (!run.read_only() && me.random.one_in(Ratio)) {
      write(me, guarded);
    } else {
      read(me, guarded);
    }
  });
  run.join();
}

// Milliseconds of reads only, then writes at full speed from one or two threads.
template <class Lock>
void bursts(session& run) {
  cell<Lock> guarded;
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&, writes = i < 2](worker& me) {
      bool was_read_only = true;
      while (run.running()) {
        const bool read_only = run.read_only();
        if (writes && was_read_only && !read_only) {
          for (unsigned left = me.random.between(1, 100); left > 0; --left) write(me, guarded);
        }
        was_read_only = read_only;
        read(me, guarded);
      }
    });
  }
  run.join();
}

template <class Lock>
void hot_readers_one_writer(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads_but(1), [&](worker& me) { read(me, guarded); });
  run.repeat(1, [&](worker& me) {
    write(me, guarded);
    if (me.random.one_in(64)) sleep_microseconds(me.random.below(3000));
    spin(me.random.below(100000));
  });
  run.join();
}

// Readers fill their store buffer with misses before they lock, so that the store by which a lock
// publishes them becomes visible long after the loads that follow it.
template <class Lock>
void delayed_stores(session& run) {
  cell<Lock> guarded;
  constexpr unsigned lines = 1U << 19;
  struct alignas(64) line {
    std::atomic<std::uint64_t> value{0};
  };
  std::vector<line> far_away(lines);
  run.repeat(run.threads_but(1), [&](worker& me) {
    // Bare reads cost little and let the lock enable its readers' fast path.
    for (unsigned left = 50; left > 0; --left) {
      guarded.lock.lock_shared();
      guarded.lock.unlock_shared();
    }
    for (unsigned stores = me.random.below(64); stores > 0; --stores)
      far_away[me.random.below(lines)].value.store(stores, std::memory_order_relaxed);
    read(me, guarded, [&me] { spin(me.random.below(400)); });
  });
  run.repeat(1, [&](worker& me) {
    write(me, guarded);
    // Gives the readers time to regain their fast path, so that each write has to revoke it.
    spin(me.random.below(400000));
  });
  run.join();
}

// A reader that sleeps inside its section reports nothing, and the writer has to wait for it.
template <class Lock>
void sleeping_readers(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads_but(1), [&](worker& me) {
    read(me, guarded, [&me] {
      if (me.random.one_in(500)) sleep_microseconds(me.random.between(20, 500));
    });
    // Pauses outside the section as well: with reader preference, a writer gets in only then.
    if (!run.read_only() && me.random.one_in(100)) sleep_microseconds(me.random.below(1000));
  });
  run.repeat(1, [&](worker& me) {
    write(me, guarded);
    spin(me.random.below(50000));
  });
  run.join();
}

// A queue of writers: the lock passes from writer to writer, and readers must get their turn.
template <class Lock>
void writers(session& run) {
  cell<Lock> guarded;
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&, reads = i % 4 == 0](worker& me) {
      while (run.running()) {
        if (reads || run.read_only()) {
          read(me, guarded);
        } else {
          write(me, guarded);
        }
      }
    });
  }
  run.join();
}

// Working sets of 1 to 10,000 locks; the size changes over time.
template <class Lock>
void many_locks(session& run) {
  constexpr unsigned sizes[] = {1, 10, 100, 1000, 10000};
  const auto guarded = std::make_unique<cell<Lock>[]>(10000);
  run.repeat(run.threads(), [&](worker& me) {
    const unsigned size = sizes[(run.tick() / 16) % std::size(sizes)];
    cell<Lock>& one = guarded[me.random.below(size)];
    if (!run.read_only() && me.random.one_in(20)) {
      write(me, one);
    } else {
      // Several reads, so that even one lock of many is read often enough for the fast path.
      for (unsigned left = me.random.between(1, 200); left > 0; --left) read(me, one);
    }
  });
  run.join();
}

template <class Lock>
void tries(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads(), [&](worker& me) {
    const bool writing = !run.read_only() && me.random.one_in(10);
    if (me.random.one_in(8)) {
      writing ? write(me, guarded) : read(me, guarded);
    } else if (writing) {
      me.about_to_write();
      write_if(guarded.lock.try_lock(), me, guarded, [] {});
    } else {
      me.about_to_read();
      read_if(guarded.lock.try_lock_shared(), me, guarded);
    }
  });
  run.join();
}

// Deadlines that have passed, that expire during the wait, and that are met, mixed with plain
// locking; some holds last longer than most deadlines allow.
template <class Lock>
void deadlines(session& run) {
  cell<Lock> guarded;
  const auto hold_long = [](worker& me) {
    if (me.random.one_in(50)) sleep_microseconds(me.random.between(20, 400));
  };
  run.repeat(run.threads(), [&](worker& me) {
    const bool writing = !run.read_only() && me.random.one_in(8);
    const std::chrono::nanoseconds wait(static_cast<int>(me.random.below(300000)) - 50000);
    const bool wall_clock = me.random.one_in(2);
    if (me.random.one_in(8)) {
      writing ? write(me, guarded, [&] { hold_long(me); }) : read(me, guarded);
    } else if (writing) {
      me.about_to_write();
      const bool granted =
          wall_clock ? guarded.lock.try_lock_by_wall_clock(wait) : guarded.lock.try_lock_for(wait);
      write_if(granted, me, guarded, [&] { hold_long(me); });
    } else {
      me.about_to_read();
      const bool granted = wall_clock ? guarded.lock.try_lock_shared_by_wall_clock(wait)
                                      : guarded.lock.try_lock_shared_for(wait);
      read_if(granted, me, guarded);
    }
  });
  run.join();
}

// One section, a write one time in `ratio`, that occasionally yields the processor.
template <class Lock>
void share_processor(session& run, worker& me, cell<Lock>& guarded, unsigned ratio,
                     unsigned reads_for_each_yield) {
  const auto yield_one_time_in = [&me](unsigned times) {
    return [&me, times] {
      if (me.random.one_in(times)) sched_yield();
    };
  };
  if (!run.read_only() && me.random.one_in(ratio)) {
    write(me, guarded, yield_one_time_in(4));
  } else {
    read(me, guarded, yield_one_time_in(reads_for_each_yield));
  }
}

// Many threads whose sections yield the processor.
template <class Lock>
void oversubscribed(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads(), [&](worker& me) { share_processor(run, me, guarded, 50, 16); });
  run.join();
}

// All threads share one processor: a thread that others wait for has been preempted, inside a
// section or between any two instructions of the lock.
template <class Lock>
void preempted(session& run) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed);
  unsigned first = 0;
  while (first + 1 < CPU_SETSIZE && !CPU_ISSET(first, &allowed)) ++first;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(first, &only);

  cell<Lock> guarded;
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      pthread_setaffinity_np(pthread_self(), sizeof only, &only);
      while (run.running()) share_processor(run, me, guarded, 200, 200);
    });
  }
  run.join();
}

// Many threads read once and then sleep until the end, beside a few hot ones: no thread may wait
// for the sleepers, and their operations after waking must count again.
template <class Lock>
void idle_threads(session& run) {
  cell<Lock> guarded;
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      read(me, guarded);
      while (run.running()) sleep_microseconds(20000);
      for (unsigned left = 100; left > 0; --left) read(me, guarded);
      write(me, guarded);
    });
  }
  run.repeat(2, [&](worker& me) { read(me, guarded); });
  run.repeat(1, [&](worker& me) {
    write(me, guarded);
    spin(me.random.below(50000));
  });
  run.join();
}

// Readers sleep between reads while a writer writes often: each is removed from the list of readers
// to wait for, and returns at every read.
template <class Lock>
void cold_readers(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads_but(2), [&](worker& me) {
    sleep_microseconds(me.random.between(50, me.random.one_in(2) ? 200 : 2000));
    for (unsigned left = me.random.between(1, 3); left > 0; --left)
      read(me, guarded, [&me] { spin(me.random.below(3000)); });
  });
  run.repeat(1, [&](worker& me) { read(me, guarded); });
  run.repeat(1, [&](worker& me) {
    if (run.read_only()) {
      read(me, guarded);
    } else {
      write(me, guarded);
      spin(me.random.below(20000));
    }
  });
  run.join();
}

// Long idle periods, then hundreds of reads in a row: an unlisted reader gets to the fast path amid
// other threads' writes.
template <class Lock>
void late_bursts(session& run) {
  cell<Lock> guarded;
  run.repeat(run.threads_but(1), [&](worker& me) {
    sleep_microseconds(me.random.between(100, me.random.one_in(2) ? 1000 : 5000));
    for (unsigned left = me.random.between(100, 3000); left > 0; --left) read(me, guarded);
  });
  run.repeat(1, [&](worker& me) {
    write(me, guarded);
    me.random.one_in(16) ? sleep_microseconds(me.random.below(1000)) : spin(me.random.below(20000));
  });
  run.join();
}

}  // namespace torture
