// SPDX-License-Identifier: Apache-2.0
// A thread releases a read hold of another, as POSIX allows.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(passive_hold_released_by_another,
         "a writer gets the lock after another thread has released the hold of a passive reader",
         effort::small) {
  biased_scene(s).add_holder("holder", hold_passively).add_releaser().add_trying_writer();
}

SCENARIO(sleeping_writer_and_release_by_another,
         "a writer that waits for a hold is woken when another thread releases it",
         effort::medium) {
  biased_scene(s).add_holder("holder", hold_passively).add_releaser().add_writer();
}

SCENARIO(slot_of_released_hold_is_used_again,
         "a writer that clears the slot of a released hold leaves the slot's next use alone",
         effort::small) {
  s.spins(0);
  auto& lock = biased_lock(s);
  auto& other = scene_on(s, biased_lock(s, "other"));
  auto& on = scene_on(s, lock);
  on.thread("holder", hold_passively, [&] { other.try_read_passively(); });
  on.add_releaser().add_trying_writer();
  s.finally([&] {
    expect_all_given_back(on.lock);
    expect_all_given_back(other.lock);
  });
}

SCENARIO(exit_of_holder_and_release_by_another,
         "a hold that is released while its thread exits is counted neither twice nor never",
         effort::medium) {
  auto& on = biased_scene(s).add_holder("holder", hold_passively).exits_at_once();
  on.add_releaser().add_trying_writer();
}

SCENARIO(two_active_holds_released_by_another,
         "of two active holds, a release by another thread and one by an owner release one each",
         effort::small) {
  auto& on = unbiased_scene(s)
                 .add_reader_inside("holder", hold_actively)
                 .add_holder("other holder", hold_actively);
  s.thread("releaser", be_known, [&] { test::unlock_shared(on.lock); });
  on.add_trying_writer();
}

// --- The hold of another thread is moved as well -------------------------------------------------

namespace {

void release_another(rwlock& lock) {
  expect(test::unlock_shared(lock), "the lock seems to have no hold that could be released");
}

// A hold of the main thread, which another thread releases. The holds of all others move with it.
lock_scene& scene_with_foreign_release(scenario& s) {
  auto& on = biased_scene(s);
  hold_passively(on.lock);
  go_offline(my_record());
  return on.thread("releaser", be_known, release_another);
}

}  // namespace

SCENARIO(move_against_own_release,
         "a hold that its owner releases while it is moved is released once", effort::small) {
  scene_with_foreign_release(s).add_reader_inside("owner", hold_passively);
}

SCENARIO(move_against_own_release_and_writer,
         "a writer comes in only when the owner of a moved hold has left", effort::medium) {
  scene_with_foreign_release(s).add_reader_inside("owner", hold_passively).add_trying_writer();
}

SCENARIO(move_against_own_release_and_sleeping_writer,
         "a writer that waits for a hold is woken although the hold is moved", effort::large) {
  scene_with_foreign_release(s).add_reader_inside("owner", hold_passively).add_writer();
}

SCENARIO(move_wakes_writer_in_drain,
         "a writer that sleeps until passive readers leave goes on when their holds have moved and "
         "left",
         effort::large) {
  auto& on = once_biased_scene(s);
  hold_while_draining(on.lock);
  on.thread("releaser", be_known, release_another).add_writer();
}

SCENARIO(move_against_exit, "a hold of a thread that exits while it is moved is counted once",
         effort::small) {
  auto& on = scene_with_foreign_release(s).add_holder("owner", hold_passively).exits_at_once();
  release_at_the_end(s, on.lock);
}

SCENARIO(move_against_exit_keeps_writer_out,
         "a hold of a thread that exits while it is moved keeps a writer out", effort::medium) {
  auto& on = scene_with_foreign_release(s).add_holder("owner", hold_passively).exits_at_once();
  s.thread("writer", be_known,
           [&] { expect(!on.try_write(), "a writer got a lock that is held for reading"); });
  release_at_the_end(s, on.lock);
}

SCENARIO(move_against_upgrade, "a hold that is moved while it is upgraded is released once",
         effort::medium) {
  scene_with_foreign_release(s).thread("owner", hold_passively, [](lock_scene& on) {
    if (test::try_upgrade(on.lock) == test::acquired) {
      on.finish_writing();
    } else {
      on.finish_reading();
    }
  });
}

SCENARIO(move_before_upgrade,
         "an upgrade of a hold that has just been moved takes it off the count", effort::medium) {
  scene_with_foreign_release(s).thread("owner", hold_passively, [](lock_scene& on) {
    const std::uint64_t state = on.lock.state.load(platform::relaxed);
    // Otherwise the other thread might take the upgrader's own hold off the count.
    if ((state & (rwlock::any_bias | rwlock::claiming)) == 0 && rwlock::readers(state) == 1) {
      expect(test::upgrade(on.lock) == test::acquired, "the only reader was refused an upgrade");
      on.finish_writing();
    } else {
      on.finish_reading();
    }
  });
}

SCENARIO(move_against_late_publisher,
         "a reader that comes too late during a move takes back its own hold alone",
         effort::small) {
  auto& on = scene_with_foreign_release(s).add_passive_reader();
  hold_while_dormant(on.lock);
  release_at_the_end(s, on.lock);
}

SCENARIO(move_against_late_publisher_and_writer,
         "no writer comes in over a hold that was moved while a reader came too late",
         effort::medium) {
  auto& on = scene_with_foreign_release(s).add_passive_reader().add_trying_writer();
  hold_while_dormant(on.lock);
  release_at_the_end(s, on.lock);
}

SCENARIO(move_against_recursion,
         "a reader whose hold is moved while it locks again holds the lock twice", effort::large) {
  scene_with_foreign_release(s).thread("owner", hold_while_dormant, [](lock_scene& on) {
    expect(test::lock_shared(on.lock) == test::acquired, "a reader inside was refused");
    expect(test::unlock_shared(on.lock), "the inner hold is lost");
    on.data.read();
    expect(test::unlock_shared(on.lock), "the outer hold is lost");
  });
}

SCENARIO(move_against_second_section,
         "a reader that leaves and comes back during a move releases each hold once",
         effort::medium) {
  scene_with_foreign_release(s).thread("owner", hold_passively, [](lock_scene& on) {
    on.finish_reading();
    expect(test::lock_shared(on.lock) == test::acquired, "a reader was refused without a writer");
    on.data.read();
    expect(test::unlock_shared(on.lock), "the second hold is lost");
  });
}

SCENARIO(two_releases_by_others, "two threads that release holds of others release one each",
         effort::medium) {
  auto& on = scene_with_foreign_release(s);
  hold_while_dormant(on.lock);
  on.thread("other releaser", be_known, release_another);
}

SCENARIO(two_releases_by_others_and_owner,
         "two threads that release holds of others, and an owner, release one each",
         effort::large) {
  auto& on = scene_with_foreign_release(s);
  hold_while_dormant(on.lock);
  on.thread("other releaser", be_known, release_another).add_reader_inside("owner", hold_passively);
}

SCENARIO(move_against_claim, "a claim and a move of holds leave a working lock", effort::small) {
  auto& on = scene_with_foreign_release(s).add_trying_writer();
  hold_while_dormant(on.lock);
  release_at_the_end(s, on.lock);
}

SCENARIO(move_against_bias_given, "a lock whose holds have moved gets no bias", effort::medium) {
  auto& on = unbiased_scene(s);
  hold_while_draining(on.lock);
  const auto be_online_and_due = [] {
    be_online();
    be_about_to_settle();
  };
  on.thread("giver", be_online_and_due, [](lock_scene& on) { on.try_read(); });
  s.thread("releaser", be_known, [&] { release_another(on.lock); });
  s.finally([&] {
    const bool moved = (on.lock.traits.load(platform::relaxed) & rwlock::never_biased) != 0;
    expect(!moved || !test::is_biased(on.lock), "a lock whose holds have moved is biased");
    expect_all_given_back(on.lock);
  });
}

SCENARIO(move_of_nested_hold, "a nested hold that is moved is released once", effort::medium) {
  auto& on = biased_scene(s);
  auto& other = biased_lock_in_slot_of(s, on.lock, "other");
  hold_while_dormant(on.lock);
  const auto hold_both = [&other](rwlock& lock) {
    hold_passively(other);
    hold_passively(lock);
  };
  on.thread("releaser", be_known, release_another);
  on.thread("owner", hold_both, [&other](lock_scene& on) {
    on.finish_reading();
    test::unlock_shared(other);
  });
}

}  // namespace readmost::model
