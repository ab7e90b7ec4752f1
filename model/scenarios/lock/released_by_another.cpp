// Read holds that another thread releases, as POSIX allows.
#include "scenarios/situations.hpp"

namespace readmost::model {

SCENARIO(passive_hold_released_by_another,
         "a writer gets the lock when another thread releases the hold of a passive reader",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("holder", [&] { hold_passively(lock); }, [] {});
  s.thread("releaser", be_known, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(sleeping_writer_and_release_by_another,
         "a writer that waits for a hold is woken when another thread releases it", effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("holder", [&] { hold_passively(lock); }, [] {});
  s.thread("releaser", be_known, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(slot_of_released_hold_is_used_again,
         "a writer that clears the slot of a hold that is released leaves its next use alone",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& other = biased_lock(s, "other");
  auto& data = s.make<guarded>("data");
  auto& other_data = s.make<guarded>("other data");
  s.thread("holder", [&] { hold_passively(lock); }, [&] { try_read_passively(other, other_data); });
  s.thread("releaser", be_known, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] {
    expect_all_given_back(lock);
    expect_all_given_back(other);
  });
}

SCENARIO(exit_of_holder_and_release_by_another,
         "a hold that is released while its thread exits is counted neither twice nor never",
         effort::medium) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("holder", [&] { hold_passively(lock); }, [] {});
  s.exits_at_once();
  s.thread("releaser", be_known, [&] { finish_reading(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(active_hold_released_by_another,
         "who releases another thread's active hold takes it off that thread's record",
         effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& released = s.make<platform::atomic<bool>>("released");
  s.thread(
      "holder", [&] { hold_actively(lock); },
      [&] {
        if (!released.load(platform::acquire)) return;
        for (const auto& slot : my_record().held) {
          expect(is_free(slot.load(platform::relaxed)), "a hold is noted that is no more");
        }
      });
  s.thread("releaser", be_known, [&] {
    unit::unlock_shared(lock);
    released.store(true, platform::release);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(two_active_holds_released_by_another,
         "a hold that is released for another thread takes one note off, its owner's release one",
         effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  const auto enter = [&] { hold_actively(lock); };
  s.thread("holder", enter, [&] { finish_reading(lock, data); });
  s.thread("other holder", enter, [] {});
  s.thread("releaser", be_known, [&] { unit::unlock_shared(lock); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
