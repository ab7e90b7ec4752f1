// A lock, what it protects, and threads in their usual parts.
#pragma once

#include "scenarios/situations.hpp"

namespace readmost::model {

// The scenario ends with expect_all_given_back(), unless it has a `finally` of its own.
class lock_scene {
 public:
  lock_scene(scenario& s, rwlock& of);

  rwlock& lock;
  guarded& data;

  // Comes, reads or writes, and leaves.
  void add_reader(const char* name, rules how = {});
  void add_writer(const char* name, rules how = {});
  // Is inside, by `hold` in the reader's case, reads or writes, and leaves.
  void add_reader_inside(const char* name, void (*hold)(rwlock&));
  void add_writer_inside(const char* name, rules how = {});

 private:
  scenario& in_;
};

// Lasts as long as the execution, so that threads may refer to it.
lock_scene& scene_on(scenario& s, rwlock& lock);

}  // namespace readmost::model
