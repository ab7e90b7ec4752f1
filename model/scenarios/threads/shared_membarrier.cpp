// Several writers that share one membarrier.
#include "scenarios/lock_under_test.hpp"
#include "scenarios/situations.hpp"

namespace readmost::model {

SCENARIO(membarrier_shared_by_two_writers,
         "a writer that relies on another's membarrier is behind it with all that it did before",
         effort::large) {
  s.turns(2);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("first writer", be_known, run_round);
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(dormant_by_a_shared_membarrier,
         "a writer that finds a reader dormant is behind the membarrier, whoever ran it",
         effort::large) {
  s.turns(2);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("first writer", be_known, run_round);
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("second writer", be_known, run_round);
  s.finally([&] { expect_all_given_back(lock); });
}

// A sleeper does not tell readers to leave, so nothing else keeps them out.
SCENARIO(membarrier_of_a_sleeper,
         "a writer does not rely on a membarrier that had begun before it asked for one",
         effort::medium) {
  s.turns(2);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.thread("reader", be_online, [&] { try_read_passively(lock, data); });
  s.thread("sleeper", be_known, [] { const drain_sleep sleep(default_domain); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(two_readers_and_two_writers,
         "writers of two locks and readers of both exclude one another", effort::large) {
  s.turns(2);
  auto& first = biased_lock(s, "first");
  auto& second = biased_lock(s, "second");
  auto& first_data = s.make<guarded>("first data");
  auto& second_data = s.make<guarded>("second data");
  const auto read = [&] {
    try_read_under(first, first_data);
    try_read_under(second, second_data);
  };
  s.thread("reader", be_online, read);
  s.thread("other reader", be_online, read);
  s.thread("writer", be_known, [&] { write_under(first, first_data); });
  s.thread("other writer", be_known, [&] { write_under(second, second_data); });
  s.finally([&] {
    expect_all_given_back(first);
    expect_all_given_back(second);
  });
}

SCENARIO(sleeper_relies_on_membarrier_of_a_writer,
         "a writer that sleeps behind another's membarrier is woken by the last reader",
         effort::large) {
  s.turns(2);
  auto& lock = without_bias_to_come(biased_lock(s));
  s.thread(
      "reader",
      [&] {
        hold_passively(lock);
        make_draining(lock);
      },
      [&] { unit::unlock_shared(lock); });
  s.thread("sleeper", be_known, [&] {
    const drain_sleep sleep(default_domain);
    for (;;) {
      const std::uint32_t epoch = sleep.epoch();
      if (passive_holds(default_domain, &lock, &my_record(), 0) == 0) break;
      sleep.wait(epoch, nullptr);
    }
  });
  s.thread("writer", be_known, run_round);
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
