// SPDX-License-Identifier: Apache-2.0
// The public classes, with the standard library's guards.
#include <mutex>
#include <readmost/shared_mutex.hpp>
#include <readmost/shared_timed_mutex.hpp>
#include <shared_mutex>

#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

template <class Mutex, class... Arguments>
auto& scene_of(scenario& s, Arguments... of_mutex) {
  s.spins(0);
  find_out_once();
  return scene_on(s, s.make<Mutex>("mutex", of_mutex...));
}

void reader_and_writer_by_guards(scenario& s, standard_scene<shared_mutex>& on) {
  s.thread("reader", be_known, [&] {
    const std::shared_lock inside(on.lock);
    on.data.read();
  });
  s.thread("writer", be_known, [&] {
    const std::unique_lock inside(on.lock);
    on.data.write();
  });
}

}  // namespace

SCENARIO(class_shared_mutex, "a reader and a writer of a shared_mutex are never inside at once",
         effort::small) {
  reader_and_writer_by_guards(s, scene_of<shared_mutex>(s));
}

SCENARIO(class_shared_mutex_in_turns,
         "a reader and a writer of a phase-fair shared_mutex are never inside at once",
         effort::small) {
  reader_and_writer_by_guards(s, scene_of<shared_mutex>(s, preference::phase_fair));
}

SCENARIO(class_shared_mutex_upgrade, "one of two readers of a shared_mutex that upgrade writes",
         effort::small) {
  auto& on = scene_of<shared_mutex>(s);
  const auto hold = [&] {
    be_known();
    on.lock.lock_shared();
  };
  for (const char* name : {"one", "another"}) {
    s.thread(name, hold, [&] {
      if (on.lock.upgrade()) {
        on.data.write();
        on.lock.downgrade();
      }
      on.finish_reading();
    });
  }
  expect_free_at_the_end(s, on.lock);
}

SCENARIO(class_shared_timed_mutex,
         "a reader and a writer of a shared_timed_mutex that give up leave it free",
         effort::small) {
  s.timeouts(1);
  auto& on = scene_of<shared_timed_mutex>(s);
  using std::chrono::hours;
  s.thread("reader", be_known, [&] {
    const std::shared_lock inside(on.lock, hours(1));
    if (inside) on.data.read();
  });
  s.thread("writer", be_known, [&] {
    const std::unique_lock inside(on.lock, hours(1));
    if (inside) on.data.write();
  });
  expect_free_at_the_end(s, on.lock);
}

}  // namespace readmost::model
