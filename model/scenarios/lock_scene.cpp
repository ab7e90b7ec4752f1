#include "scenarios/lock_scene.hpp"

namespace readmost::model {

lock_scene::lock_scene(scenario& s, rwlock& of) : lock(of), data(s.make<guarded>("data")), in_(s) {
  s.finally([this] { expect_all_given_back(lock); });
}

void lock_scene::add_reader(const char* name, rules how) {
  in_.thread(name, be_known, [this, how] { read_under(lock, data, how); });
}

void lock_scene::add_writer(const char* name, rules how) {
  in_.thread(name, be_known, [this, how] { write_under(lock, data, how); });
}

void lock_scene::add_reader_inside(const char* name, void (*hold)(rwlock&)) {
  in_.thread(name, [this, hold] { hold(lock); }, [this] { finish_reading(lock, data); });
}

void lock_scene::add_writer_inside(const char* name, rules how) {
  in_.thread(name, [this] { hold_alone(lock); }, [this, how] { finish_writing(lock, data, how); });
}

lock_scene& scene_on(scenario& s, rwlock& lock) {
  return s.make<lock_scene>("scene", s, lock);
}

}  // namespace readmost::model
