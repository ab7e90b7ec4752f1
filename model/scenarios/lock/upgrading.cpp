// SPDX-License-Identifier: Apache-2.0
// A reader becomes the writer, or a writer becomes a reader.
#include <array>

#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

// For a thread that holds the lock shared: adds one to what it has read if it gets the upgrade, and
// leaves.
bool add_one_by_upgrade(lock_scene& on, rules how = {}) {
  const std::uint32_t seen = on.data.value();
  if (test::upgrade(on.lock, how) != test::acquired) {
    test::unlock_shared(on.lock);
    return false;
  }
  expect(on.data.value() == seen, "another thread wrote while a reader became the writer");
  on.data.set(seen + 1);
  test::unlock(on.lock, how);
  return true;
}

void write(lock_scene& on, std::uint32_t value) {
  test::lock(on.lock);
  on.data.set(value);
  test::unlock(on.lock);
}

// Begins inside by `hold`, and has no rival.
lock_scene& add_upgrader(lock_scene& on, void (*hold)(rwlock&)) {
  return on.thread("upgrader", hold, [](lock_scene& on) {
    expect(add_one_by_upgrade(on), "an upgrade failed without a rival");
  });
}

void two_upgraders(scenario& s, void (*hold)(rwlock&)) {
  auto& on = ordinary_scene(s);
  auto& done = s.make<std::array<bool, 2>>("done");
  on.thread("one", hold, [&] { done[0] = add_one_by_upgrade(on); });
  on.thread("another", hold, [&] { done[1] = add_one_by_upgrade(on); });
  s.finally([&] {
    expect(on.data.value() == unsigned{done[0]} + unsigned{done[1]}, "a change is lost");
    expect(on.data.value() >= 1, "no upgrade succeeded");
    expect_all_given_back(on.lock);
  });
}

void upgrader_and_leaving_reader(scenario& s, void (*hold)(rwlock&)) {
  add_upgrader(ordinary_scene(s), hold).add_reader_inside("reader", hold);
}

void upgrader_and_writer(scenario& s, void (*hold)(rwlock&)) {
  add_upgrader(ordinary_scene(s), hold).thread("writer", be_known, [](lock_scene& on) {
    write(on, 7);
  });
}

// Refused only while a writer checks for holds.
void upgrade_alone(rwlock& lock) {
  if (test::try_upgrade(lock) == test::acquired) {
    test::unlock(lock);
  } else {
    expect(test::unlock_shared(lock), "a reader whose upgrade was refused has lost its hold");
  }
}

}  // namespace

SCENARIO(upgrade_against_upgrade, "one of two active readers that upgrade becomes the writer",
         effort::small) {
  two_upgraders(s, hold_actively);
}

SCENARIO(upgrade_against_passive_upgrade,
         "one of two passive readers that upgrade becomes the writer", effort::small) {
  two_upgraders(s, hold_while_draining);
}

SCENARIO(upgrade_over_leaving_reader, "an upgrade waits for the other active reader and is woken",
         effort::small) {
  upgrader_and_leaving_reader(s, hold_actively);
}

SCENARIO(upgrade_over_leaving_passive_reader,
         "an upgrade of a passive hold waits for the other passive reader and is woken",
         effort::small) {
  upgrader_and_leaving_reader(s, hold_while_draining);
}

SCENARIO(upgrade_against_new_reader, "a reader that comes while another upgrades enters in the end",
         effort::small) {
  add_upgrader(ordinary_scene(s), hold_actively).add_reader();
}

SCENARIO(upgrade_against_writer,
         "an upgrade goes before a writer that waits, and wakes it afterwards", effort::small) {
  upgrader_and_writer(s, hold_actively);
}

SCENARIO(upgrade_of_passive_against_writer,
         "an upgrade of a passive hold goes before a writer that waits for that hold",
         effort::small) {
  upgrader_and_writer(s, hold_while_draining);
}

SCENARIO(upgrade_wakes_writer_of_its_passive_hold,
         "an upgrade that counts its passive hold wakes the writer that waits for that hold",
         effort::large) {
  auto& on = ordinary_scene(s);
  s.thread("writer", be_known, [&] { test::write(on.lock); });
  on.thread("upgrader", hold_while_draining, [&] {
    expect(test::upgrade(on.lock) == test::acquired, "an upgrade failed without a rival");
    test::unlock(on.lock);
  });
  on.thread("reader", hold_actively, [&] { test::unlock_shared(on.lock); });
}

SCENARIO(upgrade_is_never_missed,
         "a writer sees the hold of an upgrade that waits, before and after it is counted",
         effort::small) {
  auto& on = ordinary_scene(s);
  on.thread("upgrader", hold_while_draining, [&] { add_one_by_upgrade(on); });
  on.thread("writer", hold_while_draining, [&] {
    test::unlock_shared(on.lock);
    if (test::try_lock(on.lock) != test::acquired) return;
    on.data.set(7);
    test::unlock(on.lock);
  });
}

SCENARIO(upgrades_that_met_a_claim,
         "two upgrades that sleep while a claim is undecided both go on when it is undone",
         effort::large) {
  const auto hold_with_drain = [](rwlock& lock) {
    hold_actively(lock);
    lock.state.fetch_or(rwlock::draining, platform::relaxed);
  };
  const auto upgrade = [](lock_scene& on) { add_one_by_upgrade(on, readers_first); };
  auto& on = ordinary_scene(s)
                 .thread("one", hold_actively, upgrade)
                 .thread("another", hold_with_drain, upgrade);
  s.thread("writer", be_known, [&] {
    if (test::try_lock(on.lock, readers_first) == test::acquired) {
      test::unlock(on.lock, readers_first);
    }
  });
  s.finally([&] {
    expect(on.data.value() >= 1, "no upgrade succeeded");
    expect_all_given_back(on.lock);
  });
}

SCENARIO(upgrade_tried_alone,
         "the only reader that tries to upgrade while a writer tries upgrades or keeps its hold",
         effort::small) {
  auto& on = ordinary_scene(s).thread("reader", hold_while_draining, upgrade_alone);
  s.thread("writer", be_known, [&] {
    if (test::try_lock(on.lock) == test::acquired) test::unlock(on.lock);
  });
}

SCENARIO(upgrade_tried_among_others,
         "a reader that tries to upgrade while another is inside is refused and keeps its hold",
         effort::small) {
  auto& on = ordinary_scene(s);
  hold_while_draining(on.lock);
  on.thread("reader", hold_while_draining, [](rwlock& lock) {
    expect(test::try_upgrade(lock) == test::busy, "an upgrade ignored a reader");
    test::unlock_shared(lock);
  });
  on.thread("writer", be_known, [](rwlock& lock) {
    expect(test::try_lock(lock) == test::busy, "a writer ignored a reader");
  });
  release_at_the_end(s, on.lock);
}

namespace {

// The calling thread holds the lock twice, by two paths.
void upgrade_of_two(rwlock& lock) {
  expect(test::upgrade(lock) == test::busy, "a thread with two holds has become the writer");
  expect(test::unlock_shared(lock) && test::unlock_shared(lock), "a hold is lost");
}

void two_own_holds(scenario& s, void (*hold)(rwlock&)) {
  auto& on = ordinary_scene(s).thread("reader", hold, upgrade_of_two);
  on.add_trying_writer();
}

}  // namespace

SCENARIO(upgrade_with_two_passive_holds, "a thread with two passive holds is refused an upgrade",
         effort::small) {
  two_own_holds(s, [](rwlock& lock) {
    hold_while_draining(lock);
    hold_while_draining(lock);
  });
}

SCENARIO(upgrade_with_passive_and_active_hold,
         "a thread with a passive and an active hold is refused an upgrade", effort::small) {
  two_own_holds(s, [](rwlock& lock) {
    hold_while_draining(lock);
    expect(test::lock_shared(lock) == test::acquired && rwlock::readers(lock.state.load()) == 1,
           "the scenario does not begin with an active hold");
  });
}

SCENARIO(upgrade_with_two_active_holds, "a thread with two active holds is refused an upgrade",
         effort::small) {
  two_own_holds(s, [](rwlock& lock) {
    hold_actively(lock);
    hold_actively(lock);
  });
}

SCENARIO(upgrade_over_two_leaving_readers,
         "an upgrade that sleeps is woken by the last other reader that leaves", effort::medium) {
  add_upgrader(ordinary_scene(s), hold_actively)
      .add_reader_inside("reader", hold_actively)
      .add_reader_inside("other reader", hold_actively);
}

SCENARIO(upgrade_against_claim_of_biased_lock,
         "an upgrade of a passive hold and a writer that claims the lock both get it",
         effort::medium) {
  add_upgrader(biased_scene(s), hold_passively).add_writer();
}

SCENARIO(upgrade_of_biased_lock_over_leaving_reader,
         "an upgrade that revokes the bias waits for the other passive reader", effort::medium) {
  add_upgrader(biased_scene(s), hold_passively).add_reader_inside("reader", hold_passively);
}

SCENARIO(upgrade_over_in_time,
         "an upgrade that gives up lets in the readers that it kept out, and keeps its hold",
         effort::small) {
  s.timeouts(1);
  auto& on = ordinary_scene(s);
  hold_actively(on.lock);
  on.thread("upgrader", hold_actively, [](rwlock& lock) {
    const test::hasty_rules how(in_turns, 1000);
    expect(test::upgrade(lock, how) == test::timed_out, "an upgrade ignored a reader");
    test::unlock_shared(lock);
  });
  on.thread("reader", be_known, [](rwlock& lock) { test::read(lock, 1, in_turns); });
  release_at_the_end(s, on.lock);
}

SCENARIO(downgrade_keeps_writers_out,
         "no writer writes before a writer that has become a reader leaves", effort::small) {
  auto& on = ordinary_scene(s);
  on.thread("downgrader", hold_alone, [&] {
    on.data.set(1);
    downgrade(on.lock, {});
    expect(on.data.value() == 1, "another thread wrote while a writer became a reader");
    test::unlock_shared(on.lock);
  });
  on.thread("writer", be_known, [&] { write(on, 2); });
}

SCENARIO(downgrade_wakes_readers, "a writer that becomes a reader lets in the waiting readers",
         effort::small) {
  auto& on = ordinary_scene(s);
  auto& here = s.make<signal>("here");
  on.thread("downgrader", hold_alone, [&] {
    on.data.set(1);
    downgrade(on.lock, {});
    here.await();
    test::unlock_shared(on.lock);
  });
  s.thread("reader", be_known, [&] {
    test::lock_shared(on.lock);
    expect(on.data.value() == 1, "a reader does not see what was written");
    here.give();
    test::unlock_shared(on.lock);
  });
}

SCENARIO(downgrade_with_reader_and_writer_waiting,
         "a writer that becomes a reader leaves no thread asleep for ever", effort::large) {
  auto& on = ordinary_scene(s);
  s.thread("reader", be_known, [&] { test::read(on.lock, 1); });
  s.thread("writer", be_known, [&] { test::write(on.lock); });
  on.thread("downgrader", hold_alone, [&] {
    downgrade(on.lock, {});
    test::unlock_shared(on.lock);
  });
}

}  // namespace readmost::model
