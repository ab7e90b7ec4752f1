// SPDX-License-Identifier: Apache-2.0
// Scenarios in which a thread holds several locks, holds one lock several times, or releases a hold
// of another thread.
#pragma once

#include <array>
#include <utility>

#include "sections.hpp"

namespace torture {

// Holds 1 to 12 locks at once, taken in address order and released in any order.
template <class Lock>
void nested(session& run) {
  constexpr unsigned locks = 16;
  constexpr unsigned most_held = 12;
  std::array<cell<Lock>, locks> guarded;
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      struct hold {
        unsigned lock;
        bool writing;
      };
      std::array<hold, most_held> held{};
      while (run.running()) {
        const unsigned wanted = me.random.between(1, most_held);
        unsigned count = 0;
        for (unsigned lock = 0; lock < locks && count < wanted; ++lock) {
          if (me.random.below(locks) >= wanted + 2) continue;
          const bool writing = !run.read_only() && me.random.one_in(100);
          if (writing) {
            me.about_to_write();
            guarded[lock].lock.lock();
            me.writing();
          } else {
            me.about_to_read();
            guarded[lock].lock.lock_shared();
            me.reading();
          }
          held[count++] = {lock, writing};
        }
        while (count > 0) {
          std::swap(held[me.random.below(count)], held[count - 1]);
          const hold last = held[--count];
          cell<Lock>& one = guarded[last.lock];
          if (last.writing) {
            change(me, one.data);
            one.lock.unlock();
            me.done_writing();
          } else {
            one.data.examine(me, [&me] { loiter(me); });
            one.lock.unlock_shared();
            me.done_reading();
          }
        }
      }
    });
  }
  run.join();
}

// Reads the same lock recursively, up to five deep, with another lock in between, while writers
// wait.
template <class Lock>
void recursive(session& run) {
  cell<Lock> outer;
  cell<Lock> inner;
  const unsigned readers = run.threads() > 2 ? run.threads() - 2 : 1;
  for (unsigned i = 0; i < readers; ++i) {
    run.spawn([&](worker& me) {
      while (run.running()) {
        read(me, outer, [&] {
          // Leaves time for a writer to arrive and wait.
          if (me.random.one_in(32)) sleep_microseconds(me.random.between(5, 100));
          const auto again = [&](auto& self, unsigned left) -> void {
            if (left == 0) return;
            read(me, outer, [&] { self(self, left - 1); });
          };
          if (me.random.one_in(3)) {
            read(me, inner, [&] { again(again, me.random.between(1, 3)); });
          } else {
            again(again, me.random.below(4));
          }
        });
      }
    });
  }
  for (unsigned i = 0; i < 2; ++i) {
    run.spawn([&, i](worker& me) {
      while (run.running()) {
        if (run.read_only()) {
          read(me, outer);
        } else {
          write(me, i == 0 ? outer : inner);
          spin(me.random.below(20000));
        }
      }
    });
  }
  run.join();
}

// One thread begins reads and another ends them; some of the threads that began have exited by
// then.
template <class Lock>
void cross_thread_unlock(session& run) {
  constexpr unsigned most_pending = 8;
  cell<Lock> guarded;
  alignas(64) std::atomic<unsigned> pending{0};
  const unsigned beginners = run.threads() > 3 ? run.threads() - 2 : 2;
  std::atomic<unsigned> beginning{beginners};

  for (unsigned i = 0; i < beginners; ++i) {
    run.spawn([&, mortal = i == 0](worker& me) {
      const auto begin_and_leave = [&] {
        me.about_to_read();
        guarded.lock.lock_shared();
        me.reading();
        guarded.data.examine(me, [] {});
        pending.fetch_add(1, std::memory_order_release);
        me.done_reading();
      };
      while (run.running()) {
        for (unsigned left = me.random.below(100); left > 0; --left) read(me, guarded);
        if (pending.load(std::memory_order_relaxed) >= most_pending) {
          std::this_thread::yield();
        } else if (mortal) {
          std::thread(begin_and_leave).join();
        } else {
          begin_and_leave();
        }
      }
      beginning.fetch_sub(1);
    });
  }
  // Never waits for the lock, so that every hold is eventually released.
  run.spawn([&](worker& me) {
    for (;;) {
      if (pending.load(std::memory_order_acquire) == 0) {
        if (beginning.load() == 0 && pending.load() == 0) return;
        std::this_thread::yield();
        continue;
      }
      pending.fetch_sub(1);
      me.about_to_read();
      me.reading();
      guarded.data.examine(me, [&me] { loiter(me); });
      guarded.lock.unlock_shared();
      me.done_reading();
    }
  });
  run.spawn([&](worker& me) {
    while (run.running()) {
      if (!run.read_only()) write(me, guarded);
      spin(me.random.below(50000));
    }
  });
  run.join();
}

}  // namespace torture
