// SPDX-License-Identifier: Apache-2.0
// Machines without membarrier(2), and machines on which it stops working.
#include "scenarios/lock_scene.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// A biased lock of a process that has registered for membarrier, which then stops working.
lock_scene& scene_without_membarrier(scenario& s) {
  auto& on = biased_scene(s);
  s.without_membarrier();
  return on;
}

}  // namespace

SCENARIO(bias_without_membarrier,
         "without membarrier a lock gets its bias for fenced holds, and no thread is online",
         effort::small) {
  s.without_membarrier();
  auto& on = unbiased_scene(s);
  const auto be_known_and_due = [] {
    be_known();
    be_about_to_settle();
  };
  on.thread("reader", be_known_and_due, [&] {
    on.try_read();
    expect(!come_online(my_record()), "a thread is online without membarrier");
  });
  on.add_trying_writer();
  s.finally([&] {
    expect(!test::is_biased(on.lock), "a lock is biased for threads that are online");
    expect_all_given_back(on.lock);
  });
}

SCENARIO(membarrier_stops_working,
         "when membarrier fails the writer waits until the store buffers have drained",
         effort::small) {
  auto& on = scene_without_membarrier(s).add_passive_reader();
  s.thread("writer", be_known, [&] {
    if (!on.try_write()) return;
    expect(!test::is_biased(on.lock) || membarrier_works(),
           "a lock is biased although readers cannot be passive");
  });
}

SCENARIO(membarrier_stops_working_for_sleeper,
         "a writer that waits for a hold gets the lock although membarrier fails", effort::small) {
  scene_without_membarrier(s).add_reader_inside("reader", hold_passively).add_writer();
}

SCENARIO(
    coming_online_while_membarrier_fails,
    "a reader that comes online just after membarrier has failed and a writer are never inside "
    "at once",
    effort::large) {
  auto& first = biased_lock(s, "first");
  auto& on = scene_without_membarrier(s);
  s.thread("reader", be_online, [&] {
    go_offline();
    on.try_read();
  });
  s.thread("writer", be_known, [&] {
    test::lock(first);
    on.try_write();
  });
}

}  // namespace readmost::model
