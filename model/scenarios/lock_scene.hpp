// SPDX-License-Identifier: Apache-2.0
// A lock, the data that it protects, and threads in their usual roles.
#pragma once

#include <type_traits>
#include <utility>

#include "scenarios/lock_under_test.hpp"

namespace readmost::model {

// One of the library's bare locks. The scenario ends with expect_all_given_back(), unless it sets a
// `finally` of its own.
class lock_scene {
 public:
  lock_scene(scenario& s, rwlock& of);

  rwlock& lock;
  guarded& data;

  // --- Sections of the calling thread. Those that try may fail.
  void read(rules how = {});
  void write(rules how = {});
  bool try_read(rules how = {});
  bool try_read_passively();
  bool try_write(rules how = {});
  // The second half of a section.
  void finish_reading();
  void finish_writing(rules how = {});

  // --- Threads. `before` and `body` take the lock, the scene, or nothing.
  template <class Before, class Body>
  lock_scene& thread(const char* name, Before before, Body body) {
    in_.thread(name, [this, before] { call(before); }, [this, body] { call(body); });
    return *this;
  }
  // A thread that enters the lock and leaves it; it waits if it has to.
  lock_scene& add_reader(const char* name = "reader", rules how = {});
  lock_scene& add_writer(const char* name = "writer", rules how = {});
  // One that only tries, in the reader's case by any path or by the passive one alone.
  lock_scene& add_trying_reader(const char* name = "reader", void (*before)() = be_online);
  lock_scene& add_passive_reader(const char* name = "reader");
  lock_scene& add_trying_writer(const char* name = "writer");
  // One that is inside when the scenario begins, and leaves.
  lock_scene& add_reader_inside(const char* name, void (*hold)(rwlock&));
  lock_scene& add_writer_inside(const char* name = "writer", rules how = {});
  // One that is inside when the scenario begins, and does not leave.
  lock_scene& add_holder(const char* name, void (*hold)(rwlock&));
  // A reader that is inside by `hold` and stays until another has come; that other one; and a
  // writer. All prefer readers.
  lock_scene& add_reader_that_awaits_another(void (*hold)(rwlock&));
  // One that releases the hold of another.
  lock_scene& add_releaser(const char* name = "releaser");
  // The library's work at the exit of the latest thread is part of what is explored.
  lock_scene& exits_at_once();

 private:
  template <class Function>
  void call(const Function& function) {
    if constexpr (std::is_invocable_v<const Function&, rwlock&>) {
      function(lock);
    } else if constexpr (std::is_invocable_v<const Function&, lock_scene&>) {
      function(*this);
    } else {
      function();
    }
  }

  scenario& in_;
};

// Scenes live as long as the execution, so that threads may refer to them.
lock_scene& scene_on(scenario& s, rwlock& lock);
// On locks with the usual names, on which no thread spins.
lock_scene& biased_scene(scenario& s);
lock_scene& unbiased_scene(scenario& s);
lock_scene& ordinary_scene(scenario& s);
lock_scene& once_biased_scene(scenario& s);

// A lock that has the members of the standard's locks. The scenario says what must hold at its end.
template <class Lock>
class standard_scene {
 public:
  standard_scene(scenario& s, Lock& of) : lock(of), data(s.make<guarded>("data")), in_(s) {}

  Lock& lock;
  guarded& data;

  // Sections of the calling thread. Those that try may fail.
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

  template <class Before, class Body>
  standard_scene& thread(const char* name, Before before, Body body) {
    in_.thread(name, std::move(before), std::move(body));
    return *this;
  }
  // A thread that enters the lock and leaves it.
  template <class Before>
  standard_scene& add_reader(const char* name, Before before) {
    return thread(name, std::move(before), [this] { read(); });
  }
  template <class Before = void (*)()>
  standard_scene& add_writer(const char* name = "writer", Before before = be_known) {
    return thread(name, std::move(before), [this] { write(); });
  }
  // One that has entered the lock in `before`, and leaves.
  template <class Before>
  standard_scene& add_reader_inside(const char* name, Before before) {
    return thread(name, std::move(before), [this] { finish_reading(); });
  }

 private:
  scenario& in_;
};

template <class Lock>
standard_scene<Lock>& scene_on(scenario& s, Lock& lock) {
  return s.make<standard_scene<Lock>>("scene", s, lock);
}

// When all threads have finished, the lock must be free for a writer.
template <class Lock>
void expect_free_at_the_end(scenario& s, Lock& lock) {
  s.finally([&lock] {
    expect(lock.try_lock(), "no thread is inside, but a writer is refused");
    lock.unlock();
  });
}

}  // namespace readmost::model
