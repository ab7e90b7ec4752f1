// SPDX-License-Identifier: Apache-2.0
// An object that its first user makes under a lock, which later users do not take.
#include "catalogue.hpp"
#include "scenarios/classic/fences.hpp"

namespace readmost::model {

namespace {

void make_at_first_use(scenario& s, std::memory_order publish, std::memory_order look) {
  auto& made = s.make<platform::atomic<bool>>("made");
  auto& value = s.make<platform::atomic<int>>("value");
  auto& locked = s.make<platform::atomic<bool>>("locked");
  const auto use = [&, publish, look] {
    if (!made.load(look)) {
      while (locked.exchange(true, platform::acquire)) platform::yield();
      if (!made.load(platform::relaxed)) {
        value.store(1, platform::relaxed);
        made.store(true, publish);
      }
      locked.store(false, platform::release);
    }
    expect(value.load(platform::relaxed) == 1,
           "a thread that finds the object made finds it complete");
  };
  s.thread("first", use).thread("second", use);
}

}  // namespace

BROKEN_SCENARIO(double_checked_locking_relaxed, "a relaxed store publishes an object half made",
                effort::small, assertion, under_release_acquire) {
  make_at_first_use(s, platform::relaxed, platform::relaxed);
}

SCENARIO(double_checked_locking, "release and acquire publish an object as a whole",
         effort::small) {
  make_at_first_use(s, platform::release, platform::acquire);
}

}  // namespace readmost::model
