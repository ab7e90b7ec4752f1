// SPDX-License-Identifier: Apache-2.0
// Active readers that have earned the bias give it to the lock.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

// A reader whose next active read settles the account, and finds the bias earned.
lock_scene& add_giver(lock_scene& on, const char* name, rules how = {}) {
  const auto be_online_and_due = [] {
    be_online();
    be_about_to_settle();
  };
  return on.thread(name, be_online_and_due, [how](lock_scene& on) {
    const active_attempt attempt = lock_shared_actively<true>(on.lock, my_record());
    if (attempt == active_attempt::account_due) update_account(on.lock, how);
    if (attempt != active_attempt::unavailable) on.finish_reading();
  });
}

}  // namespace

SCENARIO(bias_given_against_writer, "a writer does not miss the reader that has given the bias",
         effort::small) {
  add_giver(unbiased_scene(s), "reader").add_trying_writer();
}

SCENARIO(bias_given_to_passive_reader,
         "a reader that enters by a bias that a reader has given sees what writers wrote before",
         effort::small) {
  auto& on = add_giver(unbiased_scene(s), "giver").add_passive_reader();
  on.thread("writer", hold_alone, [&] {
    on.lock.balance.store(0, platform::relaxed);
    on.finish_writing();
  });
}

SCENARIO(bias_given_by_two, "two readers that give the bias at once leave a working lock",
         effort::small) {
  auto& on = unbiased_scene(s);
  add_giver(on, "reader");
  add_giver(on, "other reader");
  s.finally([&] {
    expect(test::is_biased(on.lock), "the lock has earned its bias and is not biased");
    expect_all_given_back(on.lock);
  });
}

SCENARIO(bias_given_while_writer_asks,
         "a writer that sleeps, having asked to be next, gets the lock although a reader gives it "
         "its bias",
         effort::small) {
  add_giver(unbiased_scene(s), "giver", readers_first).add_writer("asker", readers_first);
}

SCENARIO(bias_given_while_writer_asks_behind_another,
         "it gets the lock also if other readers, active and passive, are inside meanwhile",
         effort::large) {
  add_giver(unbiased_scene(s), "giver", readers_first)
      .add_reader_inside("active reader", hold_actively)
      .add_writer("asker", readers_first)
      .add_passive_reader();
}

SCENARIO(first_passive_reader_against_writer,
         "the first passive reader of a lock that has just been given its bias and a writer are "
         "never inside at once",
         effort::medium) {
  const auto hold_while_online = [](rwlock& lock) {
    hold_actively(lock);
    be_online();
  };
  unbiased_scene(s)
      .thread("giver", hold_while_online,
              [](rwlock& lock) {
                update_account(lock, {});
                test::unlock_shared(lock);
              })
      .add_passive_reader()
      .add_trying_writer();
}

}  // namespace readmost::model
