// A claim whose compare-and-swap finds the state as it was, though others have been there since.
#include "scenarios/lock_under_test.hpp"
#include "scenarios/situations.hpp"

namespace readmost::model {

SCENARIO(claim_of_lock_that_is_draining_again,
         "a writer that relies on another's consensus relies on the last one there was",
         effort::large) {
  s.turns(0);
  auto& lock = biased_lock(s);
  lock.state.store(rwlock::draining, platform::relaxed);
  auto& data = s.make<guarded>("data");
  // Relaxed: they say when, and order nothing.
  auto& given = s.make<platform::atomic<int>>("bias given");
  auto& inside = s.make<platform::atomic<int>>("reader inside");
  auto& tried = s.make<platform::atomic<int>>("slow writer tried");
  const auto await = [](const platform::atomic<int>& flag) {
    while (flag.load(platform::relaxed) == 0) platform::yield();
  };
  const rules how{.prefers = preference::reader};
  s.thread("slow writer", be_known, [&, how] {
    if (unit::try_lock(lock, how) == unit::acquired) {
      data.write();
      unit::unlock(lock, how);
    }
    tried.store(1, platform::relaxed);
  });
  s.thread("reader", be_online, [&, await] {
    await(given);
    const bool held = try_lock_shared_passive(lock, my_record());
    if (held) data.read();
    inside.store(1, platform::relaxed);
    await(tried);
    if (held) unit::unlock_shared(lock);
  });
  s.thread("writer", be_known, [&, how, await] {
    unit::lock(lock, how);
    unit::unlock(lock, how);
    given.store(1, platform::relaxed);
    await(inside);
    unit::lock(lock, how);
    unit::unlock(lock, how);
  });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace readmost::model
