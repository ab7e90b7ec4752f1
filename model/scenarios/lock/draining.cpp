// A writer that sleeps until the passive readers it has met are gone.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(drain_last_reader_wakes, "the last passive reader wakes the writer that sleeps over it",
         effort::small) {
  auto& scene = scene_on(s, once_biased_lock(s));
  scene.add_reader_inside("reader", hold_while_dormant);
  scene.add_writer("writer");
}

SCENARIO(drain_reader_that_reported,
         "a reader that reported while it was inside wakes the writer that sleeps over it",
         effort::small) {
  auto& scene = scene_on(s, once_biased_lock(s));
  scene.add_reader_inside("reader", [](rwlock& lock) {
    hold_passively(lock);
    report(my_record());
    go_offline(my_record());
    make_draining(lock);
  });
  scene.add_writer("writer", readers_first);
}

SCENARIO(drain_reader_online,
         "a reader that a consensus finds online wakes the writer that sleeps over it",
         effort::small) {
  auto& scene = scene_on(s, once_biased_lock(s));
  scene.add_reader_inside("reader", hold_passively);
  scene.add_writer("writer");
}

SCENARIO(drain_two_readers, "of two passive readers the last one out wakes the writer",
         effort::medium) {
  auto& scene = scene_on(s, once_biased_lock(s));
  scene.add_reader_inside("first", hold_while_dormant);
  scene.add_reader_inside("second", hold_while_draining);
  scene.add_writer("writer");
}

SCENARIO(drain_passive_and_active_reader,
         "a writer is woken by the last of a passive and an active reader, whichever that is",
         effort::medium) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_reader_inside("active", hold_actively);
  scene.add_reader_inside("passive", hold_while_draining);
  scene.add_writer("writer");
}

SCENARIO(drain_two_writers, "two writers that sleep over a passive reader both get the lock",
         effort::large) {
  auto& scene = scene_on(s, once_biased_lock(s));
  scene.add_writer("first");
  scene.add_writer("second");
  scene.add_reader_inside("reader", hold_while_draining);
}

SCENARIO(drain_released_by_another,
         "a thread that releases another's passive hold wakes the writer that sleeps over it",
         effort::small) {
  auto& scene = scene_on(s, once_biased_lock(s));
  hold_while_draining(scene.lock);
  s.thread("releaser", [&] { finish_reading(scene.lock, scene.data); });
  scene.add_writer("writer");
}

SCENARIO(drain_reader_exits,
         "a writer that waits for a thread that exits inside is woken by who releases its hold",
         effort::large) {
  auto& lock = once_biased_lock(s);
  s.thread("reader", [&] { hold_while_draining(lock); }, [] {}).exits_at_once();
  s.thread("releaser", [&] { unit::unlock_shared(lock); });
  s.thread("writer", be_known, [&] { unit::write(lock); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_exit_against_release_by_another,
         "a hold that another thread releases while its owner exits is released once",
         effort::medium) {
  auto& lock = once_biased_lock(s);
  s.thread("reader", [&] { hold_while_draining(lock); }, [] {}).exits_at_once();
  s.thread("releaser", [&] { unit::unlock_shared(lock); });
  s.thread("writer", be_known, [&] {
    if (unit::try_lock(lock) == unit::acquired) unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_exit_after_release_by_another,
         "a hold that was released before its owner exits keeps no writer out", effort::large) {
  auto& scene = scene_on(s, once_biased_lock(s));
  s.thread("reader", [&] { hold_while_draining(scene.lock); }, [] {}).exits_at_once();
  s.thread(
      "writer", [&] { unit::unlock_shared(scene.lock); },
      [&] { write_under(scene.lock, scene.data); });
  scene.add_writer("other writer");
}

SCENARIO(drain_over_in_time,
         "a writer that gives up over a passive reader leaves a lock that others get",
         effort::small) {
  s.timeouts(1);
  auto& scene = scene_on(s, once_biased_lock(s));
  scene.add_reader_inside("reader", hold_while_draining);
  s.thread("writer", be_known, [&] {
    const unit::hasty_rules how(writers_first, 1000);
    if (unit::lock(scene.lock, how) == unit::acquired) finish_writing(scene.lock, scene.data);
  });
  s.finally([&] {
    expect_all_given_back(scene.lock);
    expect(unit::try_lock(scene.lock) == unit::acquired,
           "nobody is inside and the lock is not to be had");
    unit::unlock(scene.lock);
  });
}

}  // namespace readmost::model
