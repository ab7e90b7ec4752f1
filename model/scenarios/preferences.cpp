// Who goes first when readers and writers wait.
#include "scenarios/situations.hpp"

namespace readmost::model {

SCENARIO(turn_of_readers, "in turns, a reader that waits is passed over by no second writer",
         effort::large) {
  s.turns(0);
  auto& lock = without_bias_to_come(unbiased_lock(s));
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
  s.turns(0);
  s.timeouts(2);
  auto& lock = without_bias_to_come(unbiased_lock(s));
  auto& data = s.make<guarded>("data");
  s.thread("another", be_known, [&] {
    unit::lock(lock);
    data.write();
    unit::unlock(lock);
  });
  s.thread("reader", be_known, [&] {
    unit::lock_shared(lock);
    data.read();
    unit::unlock_shared(lock);
  });
  s.thread(
      "one", [&] { hold_alone(lock); },
      [&] {
        unit::unlock(lock);
        unit::lock(lock);
        data.write();
        unit::unlock(lock);
      });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(readers_first_over_waiting_writer,
         "where readers are preferred, a writer that waits keeps none out, and is woken at last",
         effort::small) {
  s.turns(0);
  auto& lock = without_bias_to_come(unbiased_lock(s));
  auto& here = s.make<signal>("here");
  s.thread(
      "inside", [&] { hold_actively(lock); },
      [&] {
        here.await();
        unit::unlock_shared(lock);
      });
  s.thread("comes", be_known, [&] {
    unit::lock_shared(lock, readers_first);
    here.give();
    unit::unlock_shared(lock);
  });
  s.thread("writer", be_known, [&] {
    unit::lock(lock, readers_first);
    unit::unlock(lock, readers_first);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(readers_first_over_draining_writer,
         "where readers are preferred, a writer that sleeps over a passive reader keeps none out",
         effort::large) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& here = s.make<signal>("here");
  s.thread(
      "inside",
      [&] {
        hold_while_dormant(lock);
        make_draining(lock);
      },
      [&] {
        here.await();
        unit::unlock_shared(lock);
      });
  s.thread("comes", be_known, [&] {
    unit::lock_shared(lock, readers_first);
    here.give();
    unit::unlock_shared(lock);
  });
  s.thread("writer", be_known, [&] {
    unit::lock(lock, readers_first);
    unit::unlock(lock, readers_first);
  });
  s.finally([&] { expect_all_given_back(lock); });
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
  s.thread("writer", be_known, [&] {
    unit::lock(lock, readers_first);
    unit::unlock(lock, readers_first);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
