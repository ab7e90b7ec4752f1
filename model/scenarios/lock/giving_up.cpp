// Operations that give up at their deadline leave nobody behind who waits for them.
#include "scenarios/situations.hpp"

namespace readmost::model {

namespace {

void lock_in_time(rwlock& lock, rules how) {
  const unit::hasty_rules hasty(how, 1000);
  if (unit::lock(lock, hasty) == unit::acquired) unit::unlock(lock, how);
}

void share_in_time(rwlock& lock, rules how) {
  const unit::hasty_rules hasty(how, 1000);
  if (unit::lock_shared(lock, hasty) == unit::acquired) unit::unlock_shared(lock);
}

}  // namespace

SCENARIO(give_up_before_readers, "a writer that gives up lets in the readers that it kept out",
         effort::small) {
  s.timeouts(1);
  auto& lock = ordinary_lock(s);
  hold_actively(lock);
  s.thread("writer", be_known, [&] { lock_in_time(lock, in_turns); });
  s.thread("reader", be_known, [&] { unit::read(lock, 1, in_turns); });
  release_at_the_end(s, lock);
}

SCENARIO(give_up_before_impatient_readers,
         "a writer that gives up lets in the readers behind it, however often they looked up",
         effort::small) {
  s.timeouts(1);
  auto& lock = ordinary_lock(s);
  hold_actively(lock);
  s.thread("writer", be_known, [&] { lock_in_time(lock, writers_first); });
  s.thread("reader", be_known, [&] { unit::read(lock, 1); });
  release_at_the_end(s, lock);
}

SCENARIO(give_up_when_woken, "a writer that gives up just when it is woken wakes the next",
         effort::small) {
  s.timeouts(1);
  auto& lock = ordinary_lock(s);
  s.thread("hasty", be_known, [&] { lock_in_time(lock, readers_first); });
  s.thread("patient", be_known, [&] { unit::write(lock, readers_first); });
  s.thread("first", [&] { hold_alone(lock); }, [&] { unit::unlock(lock, readers_first); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(give_up_over_reader,
         "a writer that gives up over an active reader leaves the lock in order", effort::small) {
  s.timeouts(1);
  auto& lock = ordinary_lock(s);
  s.thread("reader", [&] { hold_actively(lock); }, [&] { unit::unlock_shared(lock); });
  s.thread("writer", be_known, [&] { lock_in_time(lock, writers_first); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(give_up_over_passive_reader_before_readers,
         "a writer that gives up over a passive reader lets in the readers that it kept out",
         effort::small) {
  s.timeouts(1);
  auto& lock = once_biased_lock(s);
  hold_while_draining(lock);
  s.thread("writer", be_known, [&] { lock_in_time(lock, in_turns); });
  s.thread("reader", be_known, [&] { unit::read(lock, 1, in_turns); });
  release_at_the_end(s, lock);
}

SCENARIO(give_up_as_reader, "a reader that gives up waits no more, by what the lock counts",
         effort::small) {
  s.timeouts(1);
  auto& lock = ordinary_lock(s);
  s.thread("writer", [&] { hold_alone(lock); }, [&] { unit::unlock(lock, in_turns); });
  s.thread("reader", be_known, [&] { share_in_time(lock, in_turns); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(give_up_as_last_of_a_turn,
         "a reader that gives up in the readers' turn lets in the writer that the turn kept out",
         effort::large) {
  s.timeouts(1);
  auto& lock = ordinary_lock(s);
  s.thread("reader", be_known, [&] { share_in_time(lock, in_turns); });
  s.thread("second", be_known, [&] { unit::write(lock, in_turns); });
  s.thread("first", [&] { hold_alone(lock); }, [&] { unit::unlock(lock, in_turns); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
