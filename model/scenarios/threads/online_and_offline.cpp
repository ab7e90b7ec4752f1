// Readers that come online or go offline while a writer reaches consensus.
#include "scenarios/situations.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

SCENARIO(dormant_reader_comes_online,
         "a reader that comes online sees the lock closed, or the writer sees the reader",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_dormant, [&] { try_read_under(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(new_reader_comes_online,
         "the same of a reader that is not in the index of threads to be looked at",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_known, [&] { try_read_under(lock, data); });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(reader_goes_offline_holding,
         "what a reader holds that goes offline is seen by a writer that does not wait for it",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_online, [&] {
    if (!try_lock_shared_passive(lock, my_record())) return;
    go_offline();
    finish_reading(lock, data);
  });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(reader_goes_offline_after_its_section,
         "a writer is behind the sections of a reader that has gone offline", effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { hold_passively(lock); },
      [&] {
        finish_reading(lock, data);
        go_offline();
      });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(reader_offline_and_back,
         "a reader that goes offline and comes back meanwhile is not taken for dormant",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_online, [&] {
    go_offline();
    come_online(my_record());
    try_read_passively(lock, data);
  });
  s.thread("writer", be_known, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
