// A thread read-locks again what it holds for reading, whoever waits.
#include "scenarios/situations.hpp"

namespace readmost::model {

namespace {

void lock_again_and_leave(rwlock& lock, rules how) {
  unit::lock_shared(lock, how);
  unit::unlock_shared(lock);
  unit::unlock_shared(lock);
}

}  // namespace

SCENARIO(recursion_active, "an active reader locks again while a writer waits for it",
         effort::small) {
  auto& lock = ordinary_lock(s);
  s.thread("reader", [&] { hold_actively(lock); }, [&] { lock_again_and_leave(lock, {}); });
  s.thread("writer", be_known, [&] { unit::write(lock); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(recursion_active_in_turns, "an active reader locks again whoever's turn it is",
         effort::small) {
  auto& lock = ordinary_lock(s);
  s.thread("reader", [&] { hold_actively(lock); }, [&] { lock_again_and_leave(lock, in_turns); });
  s.thread("writer", be_known, [&] { unit::write(lock, in_turns); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(recursion_mixed, "a passive reader locks again, actively, while a writer sleeps over it",
         effort::small) {
  auto& lock = once_biased_lock(s);
  s.thread("reader", [&] { hold_while_draining(lock); }, [&] { lock_again_and_leave(lock, {}); });
  s.thread("writer", be_known, [&] { unit::write(lock); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(recursion_mixed_in_turns,
         "a passive reader that meets a claim of its phase-fair lock hears that it is undone",
         effort::small) {
  auto& lock = once_biased_lock(s);
  s.thread(
      "reader", [&] { hold_while_draining(lock); }, [&] { lock_again_and_leave(lock, in_turns); });
  s.thread("writer", be_known, [&] { unit::write(lock, in_turns); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(recursion_passive, "a passive reader locks again while a writer takes the bias away",
         effort::large) {
  auto& lock = once_biased_lock(s);
  s.thread("reader", [&] { hold_passively(lock); }, [&] { lock_again_and_leave(lock, {}); });
  s.thread("writer", be_known, [&] { unit::write(lock); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
