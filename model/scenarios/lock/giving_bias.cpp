// Active readers that have earned the bias and give it to the lock.
#include "scenarios/situations.hpp"

namespace readmost::model {

namespace {

// The calling thread's next active read settles the account, and finds the bias earned.
void be_due(const rwlock& lock) {
  be_online();
  my_record().active_reads[home_slot(&lock)].store(active_reads_per_account - 1);
}

}  // namespace

SCENARIO(bias_given_against_writer, "a writer does not miss the reader that has given the bias",
         effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { be_due(lock); },
      [&] {
        if (try_lock_shared_active(lock, my_record(), default_domain, {}))
          finish_reading(lock, data);
      });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(bias_given_to_passive_reader,
         "a reader that finds the bias a reader has given sees what writers wrote before",
         effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  const auto write_last = [&] { hold_alone(lock); };
  s.thread(
      "giver", [&] { be_due(lock); },
      [&] {
        if (try_lock_shared_active(lock, my_record(), default_domain, {}))
          finish_reading(lock, data);
      });
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("writer", write_last, [&] {
    lock.balance.store(0, platform::relaxed);
    finish_writing(lock, data);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(bias_given_by_two, "two readers that give the bias at once leave a lock that works",
         effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  const auto read = [&] {
    if (try_lock_shared_active(lock, my_record(), default_domain, {})) finish_reading(lock, data);
  };
  s.thread("reader", [&] { be_due(lock); }, read);
  s.thread("other reader", [&] { be_due(lock); }, read);
  s.finally([&] {
    expect(unit::is_biased(lock), "the bias has been earned and is not there");
    expect_all_given_back(lock);
  });
}

SCENARIO(
    first_passive_reader_against_writer,
    "the first passive reader of a lock that just got its bias and a writer exclude each other",
    effort::medium) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread(
      "giver",
      [&] {
        be_due(lock);
        lock.state.fetch_add(rwlock::one_reader);
        lock.traits.fetch_or(rwlock::met);
        my_record().held[home_slot(&lock)].store(held_actively(lock));
      },
      [&] {
        settle_account(lock, {});
        unit::unlock_shared(lock);
      });
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
