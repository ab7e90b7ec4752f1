// Threads that exit, holding or not, while others write or register.
#include "scenarios/situations.hpp"

namespace readmost::model {

SCENARIO(exit_while_holding, "what an exiting thread holds keeps a writer out", effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { hold_passively(lock); }, [] {});
  s.exits_at_once();
  s.thread("writer", be_known, [&] {
    expect(!try_write_under(lock, data), "a writer got a lock that is held for reading");
  });
  s.finally([&] {
    unit::unlock_shared(lock);
    expect_all_given_back(lock);
  });
}

SCENARIO(exit_after_section, "a writer is behind the sections of a thread that has exited",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { hold_passively(lock); }, [&] { finish_reading(lock, data); });
  s.exits_at_once();
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(exit_against_sleeping_writer,
         "a writer that sleeps over an exiting thread's hold gets the lock when it is released",
         effort::large) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { hold_passively(lock); }, [] {});
  s.exits_at_once();
  s.thread("releaser", be_known, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(record_passes_to_new_thread,
         "a thread that takes over a record finds it as its last owner left it", effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("old thread", [&] { try_read_under(lock, data); });
  s.exits_at_once();
  s.thread("new thread", [&] { try_read_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(exit_of_a_record_and_its_next_owner,
         "a writer misses no reader whose record has just changed hands", effort::large) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("old thread", be_online, [] {});
  s.exits_at_once();
  s.thread("reader", [&] { try_read_under(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
