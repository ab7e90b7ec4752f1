// A lock, what it protects, and threads in their usual parts.
#pragma once

#include <utility>

#include "scenarios/situations.hpp"

namespace readmost::model {

// The scenario ends with expect_all_given_back(), unless it has a `finally` of its own.
class lock_scene {
 public:
  lock_scene(scenario& s, rwlock& of);

  rwlock& lock;
  guarded& data;

  // Comes, reads or writes, and leaves.
  void add_reader(const char* name, rules how = {});
  void add_writer(const char* name, rules how = {});
  // Is inside, by `hold` in the reader's case, reads or writes, and leaves.
  void add_reader_inside(const char* name, void (*hold)(rwlock&));
  void add_writer_inside(const char* name, rules how = {});

 private:
  scenario& in_;
};

// Lasts as long as the execution, so that threads may refer to it.
lock_scene& scene_on(scenario& s, rwlock& lock);

// The same of a lock that has the standard's members: each thread begins as its `before` leaves it.
// What must hold at the end is the scenario's to say.
template <class Lock>
class standard_scene {
 public:
  standard_scene(scenario& s, Lock& of) : lock(of), data(s.make<guarded>("data")), in_(s) {}

  Lock& lock;
  guarded& data;

  // A section of the calling thread; those that try need not get it.
  void read() {
    lock.lock_shared();
    finish_reading();
  }
  void write() {
    lock.lock();
    finish_writing();
  }
  bool try_read() {
    const bool inside = lock.try_lock_shared();
    if (inside) finish_reading();
    return inside;
  }
  bool try_write() {
    const bool inside = lock.try_lock();
    if (inside) finish_writing();
    return inside;
  }
  // The second half of a section.
  void finish_reading() {
    data.read();
    lock.unlock_shared();
  }
  void finish_writing() {
    data.write();
    lock.unlock();
  }

  // Comes, reads or writes, and leaves.
  template <class Before>
  void add_reader(const char* name, Before before) {
    in_.thread(name, std::move(before), [this] { read(); });
  }
  template <class Before = void (*)()>
  void add_writer(const char* name, Before before = be_known) {
    in_.thread(name, std::move(before), [this] { write(); });
  }
  // Is inside, by `before`, reads, and leaves.
  template <class Before>
  void add_reader_inside(const char* name, Before before) {
    in_.thread(name, std::move(before), [this] { finish_reading(); });
  }

 private:
  scenario& in_;
};

template <class Lock>
standard_scene<Lock>& scene_on(scenario& s, Lock& lock) {
  return s.make<standard_scene<Lock>>("scene", s, lock);
}

}  // namespace readmost::model
