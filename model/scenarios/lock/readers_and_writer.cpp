// A passive reader and the writer that revokes the lock's bias.
#include "scenarios/lock_under_test.hpp"

namespace readmost::model {

SCENARIO(reader_against_writer, "a reader that only tries and a writer are never inside at once",
         effort::small) {
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_online, [&] {
    if (unit::try_lock_shared(lock) != unit::acquired) return;
    data.read();
    unit::unlock_shared(lock);
  });
  s.thread("writer", be_known, [&] { write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
