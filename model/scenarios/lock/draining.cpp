// SPDX-License-Identifier: Apache-2.0
// A writer sleeps until the passive readers it has found inside have left.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(drain_last_reader_wakes, "the last passive reader wakes the writer that waits for it",
         effort::small) {
  once_biased_scene(s).add_reader_inside("reader", hold_while_dormant).add_writer();
}

SCENARIO(drain_reader_that_reported,
         "a reader that reported while it was inside wakes the writer that waits for it",
         effort::small) {
  const auto hold_and_report = [](rwlock& lock) {
    hold_passively(lock);
    report(my_record());
    go_offline(my_record());
    make_draining(lock);
  };
  once_biased_scene(s)
      .add_reader_inside("reader", hold_and_report)
      .add_writer("writer", readers_first);
}

SCENARIO(drain_reader_online,
         "a reader that a consensus finds online wakes the writer that waits for it",
         effort::small) {
  once_biased_scene(s).add_reader_inside("reader", hold_passively).add_writer();
}

SCENARIO(drain_two_readers, "the last of two passive readers to leave wakes the writer",
         effort::medium) {
  once_biased_scene(s)
      .add_reader_inside("first", hold_while_dormant)
      .add_reader_inside("second", hold_while_draining)
      .add_writer();
}

SCENARIO(drain_passive_and_active_reader,
         "the last of a passive and an active reader to leave wakes the writer", effort::medium) {
  ordinary_scene(s)
      .add_reader_inside("active", hold_actively)
      .add_reader_inside("passive", hold_while_draining)
      .add_writer();
}

SCENARIO(drain_two_writers, "two writers that sleep until a passive reader leaves get the lock",
         effort::large) {
  once_biased_scene(s).add_writer("first").add_writer("second").add_reader_inside(
      "reader", hold_while_draining);
}

SCENARIO(drain_released_by_another,
         "a thread that releases another's passive hold wakes the writer that waits for it",
         effort::medium) {
  auto& on = once_biased_scene(s);
  hold_while_draining(on.lock);
  on.thread("releaser", [] {}, [&] { on.finish_reading(); }).add_writer();
}

SCENARIO(drain_reader_exits,
         "a writer that waits for a thread that exits inside is woken by the thread that releases "
         "its hold",
         effort::large) {
  auto& on = once_biased_scene(s);
  on.add_holder("reader", hold_while_draining).exits_at_once();
  s.thread("releaser", [&] { test::unlock_shared(on.lock); });
  s.thread("writer", be_known, [&] { test::write(on.lock); });
}

SCENARIO(drain_exit_against_release_by_another,
         "a hold that another thread releases while its owner exits is released once",
         effort::medium) {
  auto& on = once_biased_scene(s);
  on.add_holder("reader", hold_while_draining).exits_at_once();
  s.thread("releaser", [&] { test::unlock_shared(on.lock); });
  s.thread("writer", be_known, [&] {
    if (test::try_lock(on.lock) == test::acquired) test::unlock(on.lock);
  });
}

SCENARIO(drain_exit_after_release_by_another,
         "a hold that was released before its owner exits keeps no writer out", effort::large) {
  auto& on = once_biased_scene(s);
  on.add_holder("reader", hold_while_draining).exits_at_once();
  on.thread("writer", [&] { test::unlock_shared(on.lock); }, [&] { on.write(); });
  on.add_writer("other writer");
}

SCENARIO(drain_over_in_time,
         "a writer that times out while it waits for a passive reader leaves a working lock",
         effort::small) {
  s.timeouts(1);
  auto& on = once_biased_scene(s).add_reader_inside("reader", hold_while_draining);
  s.thread("writer", be_known, [&] {
    const test::hasty_rules how(writers_first, 1000);
    if (test::lock(on.lock, how) == test::acquired) on.finish_writing();
  });
  s.finally([&] {
    expect_all_given_back(on.lock);
    expect(test::try_lock(on.lock) == test::acquired,
           "no thread is inside, but a writer is refused");
    test::unlock(on.lock);
  });
}

}  // namespace readmost::model
