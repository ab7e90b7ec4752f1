// SPDX-License-Identifier: Apache-2.0
// Threads hand an ordinary lock over to waiting threads, which may be asleep; one that was woken
// and has lost the lock again asks to be next.
#include <initializer_list>

#include "lock/parking.hpp"
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(hand_writer_to_reader, "a reader that waits for a writer enters and sees what it wrote",
         effort::small) {
  ordinary_scene(s).add_writer_inside().add_reader();
}

SCENARIO(hand_writer_to_writer, "a writer that waits for a writer enters and sees what it wrote",
         effort::small) {
  ordinary_scene(s).add_writer_inside("first").add_writer("second");
}

SCENARIO(hand_reader_to_writer, "the last active reader wakes the writer that waits for it",
         effort::small) {
  ordinary_scene(s).add_reader_inside("reader", hold_actively).add_writer();
}

SCENARIO(hand_two_readers_to_writer, "the last of two active readers to leave wakes the writer",
         effort::small) {
  ordinary_scene(s)
      .add_reader_inside("one", hold_actively)
      .add_reader_inside("another", hold_actively)
      .add_writer();
}

SCENARIO(hand_reader_to_two_writers, "two writers that wait for a reader both get the lock",
         effort::large) {
  ordinary_scene(s).add_writer("first").add_writer("second").add_reader_inside("reader",
                                                                               hold_actively);
}

SCENARIO(hand_writer_comes_and_goes,
         "a writer and a reader that compete for a free lock are never inside at once",
         effort::small) {
  ordinary_scene(s).add_writer().add_reader();
}

SCENARIO(hand_two_writers_meet, "two writers that compete for a free lock are never inside at once",
         effort::small) {
  ordinary_scene(s).add_writer("one").add_writer("another");
}

SCENARIO(hand_by_slow_paths,
         "a writer and a reader that take the slow paths of a new lock are never inside at once",
         effort::small) {
  auto& on = ordinary_scene(s);
  on.lock.traits.store(rwlock::private_memory, platform::relaxed);  // not met: no fast path
  on.add_writer().add_reader();
}

SCENARIO(hand_writer_to_both, "a writer that leaves lets in a waiting writer and a waiting reader",
         effort::large) {
  ordinary_scene(s).add_writer("second").add_reader().add_writer_inside("first");
}

SCENARIO(hand_writer_to_both_reader_first,
         "a woken writer that finds readers inside sleeps again until they have left",
         effort::large) {
  ordinary_scene(s)
      .add_writer("second", readers_first)
      .add_reader("reader", readers_first)
      .add_writer_inside("first", readers_first);
}

SCENARIO(hand_writer_to_two_writers, "two writers that wait for a writer both get the lock",
         effort::large) {
  ordinary_scene(s).add_writer("second").add_writer("third").add_writer_inside("first");
}

namespace {

void wake_readers(scenario& s, rwlock& lock, std::initializer_list<const char*> names) {
  for (const char* name : names) s.thread(name, be_known, [&] { test::read(lock, 1); });
  s.thread("writer", [&] { hold_alone(lock); }, [&] { test::unlock(lock); });
  s.finally([&] { expect_all_given_back(lock); });
}

void wake_readers_by_relay_of(scenario& s, unsigned cpus,
                              std::initializer_list<const char*> names) {
  auto& lock = ordinary_lock(s);
  parking::set_relay(true, 1);
  s.cpus(cpus);
  wake_readers(s, lock, names);
}

}  // namespace

SCENARIO(wake_reader, "a writer that leaves wakes a sleeping reader", effort::small) {
  wake_readers(s, ordinary_lock(s), {"one"});
}

SCENARIO(wake_readers_at_once, "a writer that leaves wakes all sleeping readers", effort::large) {
  wake_readers(s, ordinary_lock(s), {"one", "another"});
}

SCENARIO(wake_readers_by_relay,
         "where woken readers wake others, all readers that sleep on one CPU are woken",
         effort::large) {
  wake_readers_by_relay_of(s, 1, {"one", "another"});
}

SCENARIO(wake_readers_by_relay_of_another_cpu,
         "where woken readers wake others, readers that sleep on another CPU are woken too",
         effort::large) {
  wake_readers_by_relay_of(s, 2, {"first", "second", "third"});
}

SCENARIO(hand_over_with_bias_to_come, "a waiting writer takes over a lock that has earned its bias",
         effort::small) {
  const auto finish_slowly = [](lock_scene& on) {
    on.data.write();
    unlock_exclusive_slow(on.lock, {});
  };
  unbiased_scene(s).thread("first", hold_alone, finish_slowly).add_writer("second");
}

SCENARIO(hand_biased_to_reader,
         "a reader that enters passively sees what the writer wrote that gave the lock its bias",
         effort::small) {
  unbiased_scene(s).add_writer_inside().add_trying_reader();
}

// --- A writer that was woken and has lost asks to be next ----------------------------------------

namespace {

void write_under_readers_preference(lock_scene& on) {
  on.write(readers_first);
}

// A writer that sleeps while another comes back again and again, and others that compete.
lock_scene& scene_of_loser(scenario& s) {
  auto& on = ordinary_scene(s).add_writer("loser", readers_first);
  return on.thread("writer", hold_alone, [](lock_scene& on) {
    on.finish_writing(readers_first);
    write_under_readers_preference(on);
  });
}

}  // namespace

SCENARIO(asks_after_loss, "a writer that was woken too late gets the lock next", effort::small) {
  scene_of_loser(s);
}

SCENARIO(asks_before_newcomer,
         "a writer that comes when another has asked to be next waits, and gets the lock",
         effort::large) {
  scene_of_loser(s).add_writer("newcomer", readers_first);
}

SCENARIO(asks_before_reader,
         "a reader that comes when a writer has asked to be next waits, and gets the lock",
         effort::large) {
  scene_of_loser(s).add_reader("reader", readers_first);
}

SCENARIO(two_ask, "two writers that have asked to be next both get the lock", effort::large) {
  scene_of_loser(s).add_writer("other loser", readers_first);
}

SCENARIO(asker_gives_up, "a writer that has asked to be next and gives up lets in the others",
         effort::large) {
  s.timeouts(2);
  auto& on = ordinary_scene(s);
  s.thread("asker", be_known, [&] {
    const test::hasty_rules how(readers_first, 1000);
    if (test::lock(on.lock, how) == test::acquired) on.finish_writing(readers_first);
  });
  on.thread("writer", hold_alone, [](lock_scene& on) {
    on.finish_writing(readers_first);
    write_under_readers_preference(on);
  });
  on.add_reader("reader", readers_first);
}

SCENARIO(newcomer_stays_out,
         "no writer that has not slept enters a free lock that another has asked for",
         effort::small) {
  auto& on = ordinary_scene(s);
  on.lock.state.fetch_or(rwlock::handoff, platform::relaxed);
  auto& asker_was_in = s.make<variable<bool>>("asker was in");
  s.thread("newcomer", be_known, [&] {
    test::lock(on.lock, readers_first);
    expect(asker_was_in, "a newcomer has entered before a writer that was to be next");
    test::unlock(on.lock, readers_first);
  });
  // The writer that has asked, as it enters: it takes on the wake-up of those that sleep.
  s.thread("asker", be_known, [&] {
    constexpr std::uint64_t inside = rwlock::writing | rwlock::writers_parked;
    std::uint64_t state = on.lock.state.load(platform::relaxed);
    while (!on.lock.state.compare_exchange_weak(state, (state & ~rwlock::handoff) | inside,
                                                platform::acquire)) {
    }
    asker_was_in = true;
    test::unlock(on.lock, readers_first);
  });
}

SCENARIO(
    recursion_with_asker,
    "a reader inside lets another one in, under reader preference, although a writer has asked",
    effort::large) {
  ordinary_scene(s)
      .add_reader_that_awaits_another(hold_actively)
      .thread(
          "asker",
          [](rwlock& lock) {
            be_known();
            lock.state.fetch_or(rwlock::writers_parked, platform::relaxed);
          },
          [](lock_scene& on) { write_under_readers_preference(on); });
}

SCENARIO(reader_that_lost_is_counted,
         "a reader that was woken too late under reader preference gets a turn, and writers too",
         effort::large) {
  auto& on = ordinary_scene(s).add_reader("loser", readers_first);
  on.thread("writer", hold_alone, [](lock_scene& on) {
    on.finish_writing(readers_first);
    write_under_readers_preference(on);
    write_under_readers_preference(on);
  });
}

}  // namespace readmost::model
