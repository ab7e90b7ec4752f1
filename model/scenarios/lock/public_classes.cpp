// The classes that programs use, with the standard library's guards.
#include <mutex>
#include <readmost/shared_mutex.hpp>
#include <readmost/shared_timed_mutex.hpp>
#include <shared_mutex>

#include "scenarios/situations.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// What a lock finds out once is no part of the scenario.
void find_out_once() {
  passive_possible();
  watch_forks();
}

}  // namespace

SCENARIO(class_shared_mutex, "readers and a writer of a shared_mutex are never inside at once",
         effort::small) {
  s.turns(0);
  find_out_once();
  auto& mutex = s.make<shared_mutex>("mutex");
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_known, [&] {
    const std::shared_lock inside(mutex);
    data.read();
  });
  s.thread("writer", be_known, [&] {
    const std::unique_lock inside(mutex);
    data.write();
  });
}

SCENARIO(class_shared_mutex_in_turns,
         "readers and a writer of a phase-fair shared_mutex are never inside at once",
         effort::small) {
  s.turns(0);
  find_out_once();
  auto& mutex = s.make<shared_mutex>("mutex", preference::phase_fair);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_known, [&] {
    const std::shared_lock inside(mutex);
    data.read();
  });
  s.thread("writer", be_known, [&] {
    const std::lock_guard inside(mutex);
    data.write();
  });
}

SCENARIO(class_shared_mutex_upgrade, "of two readers of a shared_mutex that upgrade one writes",
         effort::small) {
  s.turns(0);
  find_out_once();
  auto& mutex = s.make<shared_mutex>("mutex");
  auto& data = s.make<guarded>("data");
  for (const char* name : {"one", "another"}) {
    s.thread(
        name,
        [&] {
          be_known();
          mutex.lock_shared();
        },
        [&] {
          if (mutex.upgrade()) {
            data.write();
            mutex.downgrade();
          }
          data.read();
          mutex.unlock_shared();
        });
  }
  s.finally([&] {
    expect(mutex.try_lock(), "nobody is inside and the lock is not to be had");
    mutex.unlock();
  });
}

SCENARIO(class_shared_timed_mutex,
         "a reader and a writer of a shared_timed_mutex that give up leave it free",
         effort::small) {
  s.turns(0);
  s.timeouts(1);
  find_out_once();
  auto& mutex = s.make<shared_timed_mutex>("mutex");
  auto& data = s.make<guarded>("data");
  using std::chrono::hours;
  s.thread("reader", be_known, [&] {
    const std::shared_lock inside(mutex, hours(1));
    if (inside) data.read();
  });
  s.thread("writer", be_known, [&] {
    const std::unique_lock inside(mutex, hours(1));
    if (inside) data.write();
  });
  s.finally([&] {
    expect(mutex.try_lock(), "nobody is inside and the lock is not to be had");
    mutex.unlock();
  });
}

}  // namespace readmost::model
