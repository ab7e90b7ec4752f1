// SPDX-License-Identifier: Apache-2.0
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

lock_scene::lock_scene(scenario& s, rwlock& of) : lock(of), data(s.make<guarded>("data")), in_(s) {
  s.finally([this] { expect_all_given_back(lock); });
}

void lock_scene::read(rules how) {
  test::lock_shared(lock, how);
  finish_reading();
}

void lock_scene::write(rules how) {
  test::lock(lock, how);
  finish_writing(how);
}

bool lock_scene::try_read(rules how) {
  const bool inside = test::try_lock_shared(lock, how) == test::acquired;
  if (inside) finish_reading();
  return inside;
}

bool lock_scene::try_read_passively() {
  const bool inside = test::try_lock_shared_passively(lock);
  if (inside) finish_reading();
  return inside;
}

bool lock_scene::try_write(rules how) {
  const bool inside = test::try_lock(lock, how) == test::acquired;
  if (inside) finish_writing(how);
  return inside;
}

void lock_scene::finish_reading() {
  data.read();
  test::unlock_shared(lock);
}

void lock_scene::finish_writing(rules how) {
  data.write();
  test::unlock(lock, how);
}

lock_scene& lock_scene::add_reader(const char* name, rules how) {
  return thread(name, be_known, [how](lock_scene& on) { on.read(how); });
}

lock_scene& lock_scene::add_writer(const char* name, rules how) {
  return thread(name, be_known, [how](lock_scene& on) { on.write(how); });
}

lock_scene& lock_scene::add_trying_reader(const char* name, void (*before)()) {
  return thread(name, before, [](lock_scene& on) { on.try_read(); });
}

lock_scene& lock_scene::add_passive_reader(const char* name) {
  return thread(name, be_online, [](lock_scene& on) { on.try_read_passively(); });
}

lock_scene& lock_scene::add_trying_writer(const char* name) {
  return thread(name, be_known, [](lock_scene& on) { on.try_write(); });
}

lock_scene& lock_scene::add_reader_inside(const char* name, void (*hold)(rwlock&)) {
  return thread(name, hold, [](lock_scene& on) { on.finish_reading(); });
}

lock_scene& lock_scene::add_writer_inside(const char* name, rules how) {
  return thread(name, hold_alone, [how](lock_scene& on) { on.finish_writing(how); });
}

lock_scene& lock_scene::add_holder(const char* name, void (*hold)(rwlock&)) {
  return thread(name, hold, [] {});
}

lock_scene& lock_scene::add_reader_that_awaits_another(void (*hold)(rwlock&)) {
  auto& here = in_.make<signal>("here");
  thread("inside", hold, [&] {
    here.await();
    test::unlock_shared(lock);
  });
  thread("comes", be_known, [&] {
    test::lock_shared(lock, readers_first);
    here.give();
    test::unlock_shared(lock);
  });
  return thread("writer", be_known, [this] { test::write(lock, readers_first); });
}

lock_scene& lock_scene::add_releaser(const char* name) {
  return thread(name, be_known, [](lock_scene& on) { on.finish_reading(); });
}

lock_scene& lock_scene::exits_at_once() {
  in_.exits_at_once();
  return *this;
}

lock_scene& scene_on(scenario& s, rwlock& lock) {
  return s.make<lock_scene>("scene", s, lock);
}

lock_scene& biased_scene(scenario& s) {
  s.spins(0);
  return scene_on(s, biased_lock(s));
}

lock_scene& unbiased_scene(scenario& s) {
  s.spins(0);
  return scene_on(s, unbiased_lock(s));
}

lock_scene& ordinary_scene(scenario& s) {
  return scene_on(s, ordinary_lock(s));
}

lock_scene& once_biased_scene(scenario& s) {
  return scene_on(s, once_biased_lock(s));
}

}  // namespace readmost::model
