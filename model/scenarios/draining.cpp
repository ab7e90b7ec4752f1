// A writer that sleeps until the passive readers it has met are gone.
#include "scenarios/situations.hpp"

namespace readmost::model {

SCENARIO(drain_last_reader_wakes, "the last passive reader wakes the writer that sleeps over it",
         effort::small) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_while_dormant(lock); },
      [&] {
        data.read();
        unit::unlock_shared(lock);
      });
  s.thread("writer", be_known, [&] {
    unit::lock(lock);
    data.write();
    unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_reader_that_reported,
         "a reader that reported while it was inside wakes the writer that sleeps over it",
         effort::small) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader",
      [&] {
        hold_passively(lock);
        report(my_record());
        go_offline(my_record());
        make_draining(lock);
      },
      [&] {
        data.read();
        unit::unlock_shared(lock);
      });
  s.thread("writer", be_known, [&] {
    unit::lock(lock, readers_first);
    data.write();
    unit::unlock(lock, readers_first);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_reader_online,
         "a reader that a consensus finds online wakes the writer that sleeps over it",
         effort::small) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_passively(lock); },
      [&] {
        data.read();
        unit::unlock_shared(lock);
      });
  s.thread("writer", be_known, [&] {
    unit::lock(lock);
    data.write();
    unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_two_readers, "of two passive readers the last one out wakes the writer",
         effort::medium) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& data = s.make<guarded>("data");
  const auto leave = [&] {
    data.read();
    unit::unlock_shared(lock);
  };
  s.thread("first", [&] { hold_while_dormant(lock); }, leave);
  s.thread(
      "second",
      [&] {
        hold_while_dormant(lock);
        make_draining(lock);
      },
      leave);
  s.thread("writer", be_known, [&] {
    unit::lock(lock);
    data.write();
    unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_passive_and_active_reader,
         "a writer is woken by the last of a passive and an active reader, whichever that is",
         effort::medium) {
  s.turns(0);
  auto& lock = without_bias_to_come(unbiased_lock(s));
  auto& data = s.make<guarded>("data");
  const auto leave = [&] {
    data.read();
    unit::unlock_shared(lock);
  };
  s.thread("active", [&] { hold_actively(lock); }, leave);
  s.thread(
      "passive",
      [&] {
        lock.state.fetch_or(rwlock::biased, platform::relaxed);
        hold_while_dormant(lock);
        make_draining(lock);
      },
      leave);
  s.thread("writer", be_known, [&] {
    unit::lock(lock);
    data.write();
    unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_two_writers, "two writers that sleep over a passive reader both get the lock",
         effort::large) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& data = s.make<guarded>("data");
  for (const char* name : {"first", "second"}) {
    s.thread(name, be_known, [&] {
      unit::lock(lock);
      data.write();
      unit::unlock(lock);
    });
  }
  s.thread(
      "reader",
      [&] {
        hold_while_dormant(lock);
        make_draining(lock);
      },
      [&] {
        data.read();
        unit::unlock_shared(lock);
      });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_released_by_another,
         "a thread that releases another's passive hold wakes the writer that sleeps over it",
         effort::small) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& data = s.make<guarded>("data");
  hold_while_dormant(lock);
  make_draining(lock);
  s.thread("releaser", [&] {
    data.read();
    unit::unlock_shared(lock);
  });
  s.thread("writer", be_known, [&] {
    unit::lock(lock);
    data.write();
    unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_reader_exits,
         "a writer that waits for a thread that exits inside is woken by who releases its hold",
         effort::large) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  s.thread(
       "reader",
       [&] {
         hold_while_dormant(lock);
         make_draining(lock);
       },
       [] {})
      .exits_at_once();
  s.thread("releaser", [&] { unit::unlock_shared(lock); });
  s.thread("writer", be_known, [&] {
    unit::lock(lock);
    unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_exit_against_release_by_another,
         "a hold that another thread releases while its owner exits is released once",
         effort::medium) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  s.thread(
       "reader",
       [&] {
         hold_while_dormant(lock);
         make_draining(lock);
       },
       [] {})
      .exits_at_once();
  s.thread("releaser", [&] { unit::unlock_shared(lock); });
  s.thread("writer", be_known, [&] {
    if (unit::try_lock(lock) == unit::acquired) unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_exit_after_release_by_another,
         "a hold that was released before its owner exits keeps no writer out", effort::large) {
  s.turns(0);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& data = s.make<guarded>("data");
  s.thread(
       "reader",
       [&] {
         hold_while_dormant(lock);
         make_draining(lock);
       },
       [] {})
      .exits_at_once();
  s.thread("writer", [&] { unit::unlock_shared(lock); }, [&] { write_under(lock, data); });
  s.thread("other writer", be_known, [&] { write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(drain_over_in_time,
         "a writer that gives up over a passive reader leaves a lock that others get",
         effort::small) {
  s.turns(0);
  s.timeouts(1);
  auto& lock = without_bias_to_come(biased_lock(s));
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader",
      [&] {
        hold_while_dormant(lock);
        make_draining(lock);
      },
      [&] {
        data.read();
        unit::unlock_shared(lock);
      });
  s.thread("writer", be_known, [&] {
    const unit::hasty_rules how(writers_first, 1000);
    if (unit::lock(lock, how) != unit::acquired) return;
    data.write();
    unit::unlock(lock);
  });
  s.finally([&] {
    expect_all_given_back(lock);
    expect(unit::try_lock(lock) == unit::acquired,
           "nobody is inside and the lock is not to be had");
    unit::unlock(lock);
  });
}

}  // namespace readmost::model
