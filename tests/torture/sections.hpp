// SPDX-License-Identifier: Apache-2.0
// Read-side and write-side sections of every kind, with their checks and counters.
#pragma once

#include <chrono>

#include "guarded.hpp"

namespace torture {

// Usually does nothing; occasionally takes long enough for a writer to enter completely.
inline void loiter(worker& me) {
  const unsigned draw = me.random.below(64);
  if (draw == 0) {
    spin(me.random.below(4000));
  } else if (draw < 8) {
    spin(me.random.below(200));
  }
}

inline void change(worker& me, guarded_words& data) {
  data.change(me, me.random.one_in(16) ? me.random.below(300) : me.random.below(16));
}

template <class Lock, class Action>
void read(worker& me, cell<Lock>& guarded, Action meanwhile) {
  me.about_to_read();
  guarded.lock.lock_shared();
  me.reading();
  guarded.data.examine(me, meanwhile);
  guarded.lock.unlock_shared();
  me.done_reading();
}

template <class Lock>
void read(worker& me, cell<Lock>& guarded) {
  read(me, guarded, [&me] { loiter(me); });
}

template <class Lock, class Action>
void write(worker& me, cell<Lock>& guarded, Action meanwhile) {
  me.about_to_write();
  guarded.lock.lock();
  me.writing();
  change(me, guarded.data);
  meanwhile();
  guarded.lock.unlock();
  me.done_writing();
}

template <class Lock>
void write(worker& me, cell<Lock>& guarded) {
  write(me, guarded, [] {});
}

// The section after a try or a timed wait, entered if the lock was granted.
template <class Lock>
void read_if(bool granted, worker& me, cell<Lock>& guarded) {
  if (!granted) return me.done_trying();
  me.reading();
  guarded.data.examine(me, [&me] { loiter(me); });
  guarded.lock.unlock_shared();
  me.done_reading();
}

template <class Lock, class Action>
void write_if(bool granted, worker& me, cell<Lock>& guarded, Action meanwhile) {
  if (!granted) return me.done_trying();
  me.writing();
  change(me, guarded.data);
  meanwhile();
  guarded.lock.unlock();
  me.done_writing();
}

inline void sleep_microseconds(unsigned count) {
  std::this_thread::sleep_for(std::chrono::microseconds(count));
}

}  // namespace torture
