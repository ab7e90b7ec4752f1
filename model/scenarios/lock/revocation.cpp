// SPDX-License-Identifier: Apache-2.0
// A writer revokes the bias of a lock while readers enter it or are inside.
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(reader_against_writer, "a reader that tries and a writer are never inside at once",
         effort::small) {
  scene_on(s, biased_lock(s)).add_trying_reader().add_writer();
}

SCENARIO(writer_waits_for_passive_reader, "a writer waits for a passive reader that is inside",
         effort::small) {
  scene_on(s, biased_lock(s)).add_reader_inside("reader", hold_passively).add_writer();
}

SCENARIO(writer_waits_for_active_reader, "a writer waits for an active reader of a biased lock",
         effort::small) {
  const auto hold_actively_with_bias = [](rwlock& lock) {
    lock.state.store(0);
    hold_actively(lock);
    lock.state.fetch_or(rwlock::biased);
  };
  scene_on(s, biased_lock(s)).add_reader_inside("reader", hold_actively_with_bias).add_writer();
}

SCENARIO(second_section_against_writer,
         "a reader that leaves and comes back and a writer that tries are never inside at once",
         effort::small) {
  const auto leave_and_come_back = [](lock_scene& on) {
    on.finish_reading();
    on.try_read_passively();
  };
  biased_scene(s).thread("reader", hold_passively, leave_and_come_back).add_trying_writer();
}

namespace {

// A reader leaves the lock and enters another one, whose hold goes into the same slot. A writer
// that finds that hold there must see all of the reader's section before it.
template <class Next>
lock_scene& pass_slot(scenario& s, rwlock& lock, rwlock& other, Next next) {
  return scene_on(s, lock).thread("reader", hold_passively, [&other, next](lock_scene& on) {
    on.finish_reading();
    next(other);
  });
}

}  // namespace

SCENARIO(slot_passes_to_other_lock,
         "a writer that finds another lock in a slot sees the end of the section before",
         effort::small) {
  s.spins(0);
  auto& lock = biased_lock(s);
  auto& other = biased_lock_in_slot_of(s, lock, "other");
  pass_slot(s, lock, other, [](rwlock& next) {
    if (test::try_lock_shared_passively(next)) test::unlock_shared(next);
  }).add_trying_writer();
}

SCENARIO(reader_after_writer, "a passive reader sees what the writer wrote that restored the bias",
         effort::small) {
  scene_on(s, biased_lock(s)).add_trying_reader().add_writer_inside();
}

SCENARIO(one_of_two_readers_in_time, "a writer misses neither of two readers", effort::medium) {
  biased_scene(s).add_passive_reader().add_passive_reader("other reader").add_trying_writer();
}

SCENARIO(claim_of_draining_lock,
         "a writer that finds the lock draining relies on the consensus of the writer before",
         effort::large) {
  biased_scene(s).add_trying_writer("second writer").add_passive_reader().add_writer();
}

}  // namespace readmost::model
