// SPDX-License-Identifier: Apache-2.0
// A lock is destroyed as soon as no thread is inside: threads that have left must not touch it.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

// The usual way to free an object together with its lock. The lock cannot be looked at afterwards.
void add_last_user(scenario& s, lock_scene& on) {
  s.thread("last user", be_known, [&on] {
    on.write();
    destroy(on.lock);
  });
  s.finally([] {});
}

}  // namespace

SCENARIO(freed_after_passive_reader, "a passive reader does not touch the lock after its unlock",
         effort::small) {
  add_last_user(s, biased_scene(s).add_reader_inside("reader", hold_passively));
}

SCENARIO(freed_after_active_reader, "an active reader does not touch the lock after its unlock",
         effort::small) {
  add_last_user(s, unbiased_scene(s).add_reader_inside("reader", hold_actively));
}

SCENARIO(freed_after_two_readers, "no reader touches the lock after the unlock of the last one",
         effort::medium) {
  add_last_user(s, biased_scene(s)
                       .add_reader_inside("reader", hold_passively)
                       .add_reader_inside("other reader", hold_passively));
}

SCENARIO(freed_after_writer, "a writer does not touch the lock after its unlock", effort::small) {
  add_last_user(s, unbiased_scene(s).add_writer_inside());
}

SCENARIO(freed_after_writer_that_gave_the_bias,
         "a writer that leaves the lock biased does not touch it after its unlock", effort::small) {
  add_last_user(s, biased_scene(s).add_writer_inside());
}

SCENARIO(freed_after_downgrade,
         "a thread that downgraded does not touch the lock after its read unlock", effort::small) {
  const auto downgrade_and_leave = [](lock_scene& on) {
    on.data.write();
    downgrade(on.lock, {});
    on.finish_reading();
  };
  add_last_user(s, unbiased_scene(s).thread("writer", hold_alone, downgrade_and_leave));
}

SCENARIO(freed_after_try, "a reader that left passively does not touch the lock when it reports",
         effort::small) {
  auto& on = biased_scene(s);
  auto& other = biased_lock(s, "other");
  on.thread(
      "reader",
      [&] {
        hold_passively(other);
        test::lock_shared(on.lock);
      },
      [&] {
        on.finish_reading();
        test::unlock_shared(other);
      });
  s.thread("last user", be_known, [&] {
    if (on.try_write()) destroy(on.lock);
  });
  s.finally([] {});
}

}  // namespace readmost::model
