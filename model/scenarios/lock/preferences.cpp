// Who goes first when readers and writers wait.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(turn_of_readers, "in turns, a reader that waits is passed over by no second writer",
         effort::large) {
  auto& lock = ordinary_lock(s);
  auto& waited = s.make<variable<bool>>("waited");
  auto& was_in = s.make<variable<bool>>("was in");
  s.thread("reader", be_known, [&] {
    unit::lock_shared(lock, in_turns);
    was_in = true;
    unit::unlock_shared(lock);
  });
  s.thread("second", be_known, [&] {
    unit::lock(lock, in_turns);
    expect(!waited || was_in, "a reader that waited was passed over by a second writer");
    unit::unlock(lock, in_turns);
  });
  s.thread(
      "first", [&] { hold_alone(lock); },
      [&] {
        waited = (lock.state.load(platform::relaxed) & rwlock::waiting_readers) != 0;
        unit::unlock(lock, in_turns);
      });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(turn_of_reader_that_starves,
         "a reader passed over by writers takes a turn of its own, and wakes who it kept out",
         effort::large) {
  s.timeouts(2);
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer("another");
  scene.add_reader("reader");
  s.thread(
      "one", [&] { hold_alone(scene.lock); },
      [&] {
        unit::unlock(scene.lock);
        write_under(scene.lock, scene.data);
      });
}

namespace {

// A reader inside that stays until another has come, whether or not the writer waits by then.
void readers_first_over_writer(scenario& s, rwlock& lock, void (*hold)(rwlock&)) {
  auto& here = s.make<signal>("here");
  s.thread(
      "inside", [&lock, hold] { hold(lock); },
      [&] {
        here.await();
        unit::unlock_shared(lock);
      });
  s.thread("comes", be_known, [&] {
    unit::lock_shared(lock, readers_first);
    here.give();
    unit::unlock_shared(lock);
  });
  s.thread("writer", be_known, [&] { unit::write(lock, readers_first); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace

SCENARIO(readers_first_over_waiting_writer,
         "where readers are preferred, a writer that waits keeps none out, and is woken at last",
         effort::small) {
  readers_first_over_writer(s, ordinary_lock(s), hold_actively);
}

SCENARIO(readers_first_over_draining_writer,
         "where readers are preferred, a writer that sleeps over a passive reader keeps none out",
         effort::large) {
  readers_first_over_writer(s, once_biased_lock(s), hold_while_draining);
}

SCENARIO(readers_first_bias_given_over_sleeping_writer,
         "a reader that gives the bias wakes the writer that sleeps", effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  s.thread(
      "reader", [&] { hold_actively(lock); },
      [&] {
        settle_account(lock, readers_first);
        unit::unlock_shared(lock);
      });
  s.thread("writer", be_known, [&] { unit::write(lock, readers_first); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
