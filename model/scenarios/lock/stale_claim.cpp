// SPDX-License-Identifier: Apache-2.0
// A claim's compare-and-swap finds the state unchanged, although other threads have changed it in
// between.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(claim_of_lock_that_is_draining_again,
         "a writer that relies on another's consensus relies on the latest one", effort::large) {
  auto& on = biased_scene(s);
  on.lock.state.store(rwlock::draining, platform::relaxed);
  // Relaxed, since they are there to choose the order of events and must not order memory.
  auto& given = s.make<platform::atomic<int>>("bias given");
  auto& inside = s.make<platform::atomic<int>>("reader inside");
  auto& tried = s.make<platform::atomic<int>>("slow writer tried");
  const auto await = [](const platform::atomic<int>& flag) {
    while (flag.load(platform::relaxed) == 0) platform::yield();
  };
  s.thread("slow writer", be_known, [&] {
    on.try_write(readers_first);
    tried.store(1, platform::relaxed);
  });
  s.thread("reader", be_online, [&, await] {
    await(given);
    const bool held = test::try_lock_shared_passively(on.lock);
    if (held) on.data.read();
    inside.store(1, platform::relaxed);
    await(tried);
    if (held) test::unlock_shared(on.lock);
  });
  s.thread("writer", be_known, [&, await] {
    test::write(on.lock, readers_first);
    given.store(1, platform::relaxed);
    await(inside);
    test::write(on.lock, readers_first);
  });
}

}  // namespace readmost::model
