// A reader that becomes the writer, and a writer that becomes a reader.
#include <array>

#include "scenarios/situations.hpp"

namespace readmost::model {

namespace {

// What two of them must not do both, and nobody between a look and a change.
class number {
 public:
  std::uint32_t get() const { return value_.get(); }
  void set(std::uint32_t value) { value_ = value; }

 private:
  variable<std::uint32_t> value_{0};
};

// For a thread that holds the lock shared: adds one to what it reads, as the only one that may,
// or leaves.
bool add_one_by_upgrade(rwlock& lock, number& data, rules how = {}) {
  const std::uint32_t seen = data.get();
  if (unit::upgrade(lock, how) != unit::acquired) {
    unit::unlock_shared(lock);
    return false;
  }
  expect(data.get() == seen, "somebody wrote while a reader became the writer");
  data.set(seen + 1);
  unit::unlock(lock, how);
  return true;
}

// Holds the lock as `hold` leaves it, and has no rival.
void add_upgrader(scenario& s, rwlock& lock, number& data, void (*hold)(rwlock&)) {
  s.thread(
      "upgrader", [&lock, hold] { hold(lock); },
      [&] { expect(add_one_by_upgrade(lock, data), "an upgrade failed without a rival"); });
}

void two_upgraders(scenario& s, void (*hold)(rwlock&)) {
  auto& lock = ordinary_lock(s);
  auto& data = s.make<number>("data");
  auto& done = s.make<std::array<number, 2>>("done");
  for (std::size_t i = 0; i < 2; ++i) {
    s.thread(
        i == 0 ? "one" : "another", [&lock, hold] { hold(lock); },
        [&, i] { done[i].set(add_one_by_upgrade(lock, data) ? 1 : 0); });
  }
  s.finally([&] {
    expect(data.get() == done[0].get() + done[1].get(), "a change is lost");
    expect(data.get() >= 1, "no upgrade succeeded");
    expect_all_given_back(lock);
  });
}

void upgrader_and_leaving_reader(scenario& s, void (*hold)(rwlock&)) {
  auto& lock = ordinary_lock(s);
  auto& data = s.make<number>("data");
  add_upgrader(s, lock, data, hold);
  s.thread(
      "reader", [&lock, hold] { hold(lock); },
      [&] {
        (void)data.get();
        unit::unlock_shared(lock);
      });
  s.finally([&] { expect_all_given_back(lock); });
}

void upgrader_and_writer(scenario& s, void (*hold)(rwlock&)) {
  auto& lock = ordinary_lock(s);
  auto& data = s.make<number>("data");
  add_upgrader(s, lock, data, hold);
  s.thread("writer", be_known, [&] {
    unit::lock(lock);
    data.set(7);
    unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace

SCENARIO(upgrade_against_upgrade, "of two active readers that upgrade one becomes the writer",
         effort::small) {
  two_upgraders(s, hold_actively);
}

SCENARIO(upgrade_against_passive_upgrade,
         "of two passive readers that upgrade one becomes the writer", effort::small) {
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

SCENARIO(upgrade_against_new_reader, "a reader that comes while another upgrades gets in, or waits",
         effort::small) {
  auto& lock = ordinary_lock(s);
  auto& data = s.make<number>("data");
  add_upgrader(s, lock, data, hold_actively);
  s.thread("reader", be_known, [&] {
    unit::lock_shared(lock);
    (void)data.get();
    unit::unlock_shared(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(upgrade_against_writer, "an upgrade goes before a writer that waits, and wakes it later",
         effort::small) {
  upgrader_and_writer(s, hold_actively);
}

SCENARIO(upgrade_of_passive_against_writer,
         "an upgrade of a passive hold goes before a writer that sleeps over it", effort::small) {
  upgrader_and_writer(s, hold_while_draining);
}

SCENARIO(upgrade_wakes_writer_of_its_passive_hold,
         "an upgrade that counts its passive hold wakes the writer that sleeps over that",
         effort::large) {
  auto& lock = ordinary_lock(s);
  s.thread("writer", be_known, [&] { unit::write(lock); });
  s.thread(
      "upgrader", [&] { hold_while_draining(lock); },
      [&] {
        expect(unit::upgrade(lock) == unit::acquired, "an upgrade failed without a rival");
        unit::unlock(lock);
      });
  s.thread("reader", [&] { hold_actively(lock); }, [&] { unit::unlock_shared(lock); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(upgrade_is_never_missed,
         "a writer sees the hold of an upgrade that waits, before and after it is counted",
         effort::small) {
  auto& lock = ordinary_lock(s);
  auto& data = s.make<number>("data");
  s.thread("upgrader", [&] { hold_while_draining(lock); }, [&] { add_one_by_upgrade(lock, data); });
  s.thread(
      "writer", [&] { hold_while_draining(lock); },
      [&] {
        unit::unlock_shared(lock);
        if (unit::try_lock(lock) != unit::acquired) return;
        data.set(7);
        unit::unlock(lock);
      });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(upgrades_that_met_a_claim,
         "of two upgrades that sleep while a claim is undecided both go on when it is undone",
         effort::large) {
  auto& lock = ordinary_lock(s);
  auto& data = s.make<number>("data");
  const auto upgrade = [&] { add_one_by_upgrade(lock, data, readers_first); };
  s.thread("one", [&] { hold_actively(lock); }, upgrade);
  s.thread(
      "another",
      [&] {
        hold_actively(lock);
        lock.state.fetch_or(rwlock::draining, platform::relaxed);
      },
      upgrade);
  s.thread("writer", be_known, [&] {
    if (unit::try_lock(lock, readers_first) == unit::acquired) unit::unlock(lock, readers_first);
  });
  s.finally([&] {
    expect(data.get() >= 1, "no upgrade succeeded");
    expect_all_given_back(lock);
  });
}

SCENARIO(upgrade_tried_alone, "who is the only reader upgrades at the first try, whoever waits",
         effort::small) {
  auto& lock = ordinary_lock(s);
  s.thread(
      "reader", [&] { hold_while_draining(lock); },
      [&] {
        expect(unit::try_upgrade(lock) == unit::acquired,
               "the only reader could not upgrade at once");
        unit::unlock(lock);
      });
  s.thread("writer", be_known, [&] {
    if (unit::try_lock(lock) == unit::acquired) unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(upgrade_tried_among_others,
         "who is not the only reader gets no upgrade by trying, and keeps its hold",
         effort::small) {
  auto& lock = ordinary_lock(s);
  hold_while_draining(lock);
  s.thread(
      "reader", [&] { hold_while_draining(lock); },
      [&] {
        expect(unit::try_upgrade(lock) == unit::busy, "an upgrade passed over a reader");
        unit::unlock_shared(lock);
      });
  s.thread("writer", be_known,
           [&] { expect(unit::try_lock(lock) == unit::busy, "a writer passed over a reader"); });
  release_at_the_end(s, lock);
}

SCENARIO(upgrade_over_in_time,
         "an upgrade that gives up lets those in that it kept out, and keeps its hold",
         effort::small) {
  s.timeouts(1);
  auto& lock = ordinary_lock(s);
  hold_actively(lock);
  s.thread(
      "upgrader", [&] { hold_actively(lock); },
      [&] {
        const unit::hasty_rules how(in_turns, 1000);
        expect(unit::upgrade(lock, how) == unit::timed_out, "an upgrade passed over a reader");
        unit::unlock_shared(lock);
      });
  s.thread("reader", be_known, [&] { unit::read(lock, 1, in_turns); });
  release_at_the_end(s, lock);
}

SCENARIO(downgrade_keeps_writers_out,
         "a writer that becomes a reader has nobody write before it leaves", effort::small) {
  auto& lock = ordinary_lock(s);
  auto& data = s.make<number>("data");
  s.thread(
      "downgrader", [&] { hold_alone(lock); },
      [&] {
        data.set(1);
        downgrade(lock, {});
        expect(data.get() == 1, "somebody wrote while a writer became a reader");
        unit::unlock_shared(lock);
      });
  s.thread("writer", be_known, [&] {
    unit::lock(lock);
    data.set(2);
    unit::unlock(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(downgrade_wakes_readers, "a writer that becomes a reader lets in readers that wait",
         effort::small) {
  auto& lock = ordinary_lock(s);
  auto& data = s.make<number>("data");
  auto& here = s.make<signal>("here");
  s.thread(
      "downgrader", [&] { hold_alone(lock); },
      [&] {
        data.set(1);
        downgrade(lock, {});
        here.await();
        unit::unlock_shared(lock);
      });
  s.thread("reader", be_known, [&] {
    unit::lock_shared(lock);
    expect(data.get() == 1, "a reader does not see what was written");
    here.give();
    unit::unlock_shared(lock);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(downgrade_with_reader_and_writer_waiting,
         "a writer that becomes a reader leaves nobody asleep for ever", effort::large) {
  auto& lock = ordinary_lock(s);
  s.thread("reader", be_known, [&] { unit::read(lock, 1); });
  s.thread("writer", be_known, [&] { unit::write(lock); });
  s.thread(
      "downgrader", [&] { hold_alone(lock); },
      [&] {
        downgrade(lock, {});
        unit::unlock_shared(lock);
      });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
