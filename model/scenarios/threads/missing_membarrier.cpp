// Machines without membarrier(2), and with one that stops working.
#include "scenarios/situations.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// The calling thread's next active read settles the account.
void be_due(const rwlock& lock) {
  be_known();
  my_record().active_reads[home_slot(&lock)].store(active_reads_per_account - 1);
}

}  // namespace

SCENARIO(no_bias_without_membarrier, "without membarrier no lock is biased and all goes well",
         effort::small) {
  s.turns(0);
  s.without_membarrier();
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { be_due(lock); },
      [&] {
        try_read_under(lock, data);
        expect(!come_online(my_record()), "a thread is online without membarrier");
      });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] {
    expect(!unit::is_biased(lock), "a lock is biased without membarrier");
    expect_all_given_back(lock);
  });
}

SCENARIO(membarrier_stops_working,
         "when membarrier fails the writer waits until the store buffers have drained",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.without_membarrier();  // only now: the process has registered for it
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("writer", be_known, [&] {
    if (try_write_under(lock, data)) {
      expect(!unit::is_biased(lock) || passive_possible(), "a lock is biased that must not be");
    }
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(membarrier_stops_working_for_sleeper,
         "a writer that sleeps over a hold gets the lock although membarrier fails",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.without_membarrier();
  s.thread("reader", [&] { hold_passively(lock); }, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(coming_online_while_membarrier_fails,
         "a reader that comes online when membarrier has just failed and a writer exclude each "
         "other",
         effort::medium) {
  s.turns(0);
  auto& first = biased_lock(s, "first");
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.without_membarrier();
  s.thread("reader", be_online, [&] {
    go_offline();
    try_read_under(lock, data);
  });
  s.thread("writer", be_known, [&] {
    unit::lock(first);
    try_write_under(lock, data);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
