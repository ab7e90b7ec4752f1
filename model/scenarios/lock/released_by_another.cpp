// A thread releases a read hold of another, as POSIX allows.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(passive_hold_released_by_another,
         "a writer gets the lock after another thread has released the hold of a passive reader",
         effort::small) {
  biased_scene(s).add_holder("holder", hold_passively).add_releaser().add_trying_writer();
}

SCENARIO(sleeping_writer_and_release_by_another,
         "a writer that waits for a hold is woken when another thread releases it", effort::small) {
  biased_scene(s).add_holder("holder", hold_passively).add_releaser().add_writer();
}

SCENARIO(slot_of_released_hold_is_used_again,
         "a writer that clears the slot of a released hold leaves the slot's next use alone",
         effort::small) {
  s.spins(0);
  auto& lock = biased_lock(s);
  auto& other = scene_on(s, biased_lock(s, "other"));
  auto& on = scene_on(s, lock);
  on.thread("holder", hold_passively, [&] { other.try_read_passively(); });
  on.add_releaser().add_trying_writer();
  s.finally([&] {
    expect_all_given_back(on.lock);
    expect_all_given_back(other.lock);
  });
}

SCENARIO(exit_of_holder_and_release_by_another,
         "a hold that is released while its thread exits is counted neither twice nor never",
         effort::medium) {
  auto& on = biased_scene(s).add_holder("holder", hold_passively).exits_at_once();
  on.add_releaser().add_trying_writer();
}

SCENARIO(active_hold_released_by_another,
         "a thread that releases another's active hold erases the note in the other's record",
         effort::small) {
  auto& on = unbiased_scene(s);
  auto& released = s.make<platform::atomic<bool>>("released");
  on.thread("holder", hold_actively, [&] {
    if (!released.load(platform::acquire)) return;
    for (const auto& slot : my_record().held) {
      expect(is_free(slot.load(platform::relaxed)), "a record notes a hold that was released");
    }
  });
  s.thread("releaser", be_known, [&] {
    test::unlock_shared(on.lock);
    released.store(true, platform::release);
  });
}

SCENARIO(two_active_holds_released_by_another,
         "of two noted holds, a release by another thread and one by an owner erase one each",
         effort::small) {
  auto& on = unbiased_scene(s)
                 .add_reader_inside("holder", hold_actively)
                 .add_holder("other holder", hold_actively);
  s.thread("releaser", be_known, [&] { test::unlock_shared(on.lock); });
  on.add_trying_writer();
}

}  // namespace readmost::model
