// Reports of readers, against writers that wait for them or run a membarrier instead.
#include "scenarios/situations.hpp"

namespace readmost::model {

SCENARIO(report_while_holding_another,
         "a reader that reports while it holds the lock is waited for all the same",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& other = biased_lock(s, "other");
  auto& data = s.make<guarded>("data");
  const auto enter = [&] {
    hold_passively(lock);
    unit::lock_shared(other);
  };
  s.thread("reader", enter, [&] {
    unit::unlock_shared(other);
    finish_reading(lock, data);
  });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(same_lock_held_twice, "a writer waits for both holds of a reader that has two",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  const auto enter = [&] {
    hold_passively(lock);
    unit::lock_shared(lock);
  };
  s.thread("reader", enter, [&] {
    unit::unlock_shared(lock);
    finish_reading(lock, data);
  });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(same_lock_taken_twice,
         "a reader that takes the lock twice and a writer are never inside "
         "at once",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_passively(lock); },
      [&] {
        if (unit::try_lock_shared(lock) == unit::acquired) unit::unlock_shared(lock);
        finish_reading(lock, data);
      });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(two_rounds_against_reader,
         "a writer that relies on the membarrier of its round before misses no reader",
         effort::small) {
  s.turns(0);
  auto& first = biased_lock(s, "first");
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("writer", be_known, [&] {
    unit::write(first);
    try_write_under(lock, data);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(two_writers_against_reader,
         "a writer that relies on the membarrier of another one misses no reader", effort::large) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("first writer", be_known, run_round);
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(reader_waits_and_reports,
         "a reader that waits for one writer reports to another, and is missed by none",
         effort::large) {
  s.turns(1);
  auto& lock = biased_lock(s);
  auto& other = unbiased_lock(s, "other");
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_passively(lock); },
      [&] {
        if (unit::try_lock_shared(other) == unit::acquired) unit::unlock_shared(other);
        finish_reading(lock, data);
      });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("other writer", be_known, [&] { unit::write(other); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
