// SPDX-License-Identifier: Apache-2.0
// Several writers share one membarrier.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

// Writers spin for two turns, so that they find each other's membarriers.
lock_scene& spinning_scene(scenario& s) {
  auto& on = biased_scene(s);
  s.spins(2);
  return on;
}

}  // namespace

SCENARIO(membarrier_shared_by_two_writers,
         "another's membarrier comes after all that a writer did before it relied on it",
         effort::large) {
  spinning_scene(s).add_trying_writer().add_passive_reader();
  s.thread("first writer", be_known, run_round);
}

SCENARIO(dormant_by_a_shared_membarrier,
         "the membarrier comes before a writer finds a reader dormant, whichever thread ran it",
         effort::large) {
  auto& on = spinning_scene(s).add_trying_writer();
  s.thread("first writer", be_known, run_round);
  on.add_passive_reader();
  s.thread("second writer", be_known, run_round);
}

// A sleeper does not ask readers to report, so that nothing else keeps them out.
SCENARIO(membarrier_of_a_sleeper,
         "a writer does not rely on a membarrier that had begun before it asked for one",
         effort::medium) {
  spinning_scene(s).add_trying_writer().add_passive_reader();
  s.thread("sleeper", be_known, [] { const drain_sleep sleep(default_domain, nullptr); });
}

SCENARIO(two_readers_and_two_writers,
         "writers of two locks and readers of both exclude one another", effort::large) {
  s.spins(2);
  auto& first = scene_on(s, biased_lock(s, "first"));
  auto& second = scene_on(s, biased_lock(s, "second"));
  for (const char* name : {"reader", "other reader"}) {
    s.thread(name, be_online, [&] {
      first.try_read();
      second.try_read();
    });
  }
  first.add_writer();
  second.add_writer("other writer");
  s.finally([&] {
    expect_all_given_back(first.lock);
    expect_all_given_back(second.lock);
  });
}

SCENARIO(sleeper_relies_on_membarrier_of_a_writer,
         "a writer that sleeps behind another's membarrier is woken by the last reader",
         effort::large) {
  s.spins(2);
  auto& on = scene_on(s, without_bias_to_come(biased_lock(s)));
  const auto hold_with_drain = [](rwlock& lock) {
    hold_passively(lock);
    make_draining(lock);
  };
  on.thread("reader", hold_with_drain, [](rwlock& lock) { test::unlock_shared(lock); });
  on.thread("sleeper", be_known, [](rwlock& lock) {
    const drain_sleep sleep(default_domain, &lock);
    for (;;) {
      const std::uint32_t epoch = sleep.epoch();
      if (passive_holds(default_domain, &lock, &my_record(), 0) == 0) break;
      sleep.wait(epoch, nullptr);
    }
  });
  s.thread("writer", be_known, run_round);
}

}  // namespace readmost::model
