// An ordinary lock that is given from one to the next, who may be asleep.
#include <initializer_list>

#include "lock/parking.hpp"
#include "scenarios/lock_scene.hpp"

namespace readmost::model {

SCENARIO(hand_writer_to_reader, "a reader that waits for a writer is let in and sees what it wrote",
         effort::small) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer_inside("writer");
  scene.add_reader("reader");
}

SCENARIO(hand_writer_to_writer, "a writer that waits for a writer is let in and sees what it wrote",
         effort::small) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer_inside("first");
  scene.add_writer("second");
}

SCENARIO(hand_reader_to_writer, "the last active reader wakes the writer that waits for it",
         effort::small) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_reader_inside("reader", hold_actively);
  scene.add_writer("writer");
}

SCENARIO(hand_two_readers_to_writer, "of two active readers the last one out wakes the writer",
         effort::small) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_reader_inside("one", hold_actively);
  scene.add_reader_inside("another", hold_actively);
  scene.add_writer("writer");
}

SCENARIO(hand_reader_to_two_writers,
         "two writers that wait for a reader both get the lock in the end", effort::large) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer("first");
  scene.add_writer("second");
  scene.add_reader_inside("reader", hold_actively);
}

SCENARIO(hand_writer_comes_and_goes,
         "a writer and a reader that meet on a free lock are never inside at once", effort::small) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer("writer");
  scene.add_reader("reader");
}

SCENARIO(hand_two_writers_meet, "two writers that meet on a free lock are never inside at once",
         effort::small) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer("one");
  scene.add_writer("another");
}

SCENARIO(hand_by_slow_paths,
         "a writer and a reader that meet on a lock not met before are never inside at once",
         effort::small) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.lock.traits.store(rwlock::private_memory, platform::relaxed);  // not met: no fast path
  scene.add_writer("writer");
  scene.add_reader("reader");
}

SCENARIO(hand_writer_to_both, "a writer that leaves lets in a writer and a reader that wait",
         effort::large) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer("second");
  scene.add_reader("reader");
  scene.add_writer_inside("first");
}

SCENARIO(hand_writer_to_both_reader_first,
         "a writer that is woken while readers enter before it sleeps again until they are gone",
         effort::large) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer("second", readers_first);
  scene.add_reader("reader", readers_first);
  scene.add_writer_inside("first", readers_first);
}

SCENARIO(hand_writer_to_two_writers, "of two writers that wait both get the lock in the end",
         effort::large) {
  auto& scene = scene_on(s, ordinary_lock(s));
  scene.add_writer("second");
  scene.add_writer("third");
  scene.add_writer_inside("first");
}

namespace {

void wake_readers(scenario& s, rwlock& lock, std::initializer_list<const char*> names) {
  for (const char* name : names) s.thread(name, be_known, [&] { unit::read(lock, 1); });
  s.thread("writer", [&] { hold_alone(lock); }, [&] { unit::unlock(lock); });
  s.finally([&] { expect_all_given_back(lock); });
}

}  // namespace

SCENARIO(wake_readers_at_once, "a writer that leaves wakes all readers that sleep", effort::small) {
  wake_readers(s, ordinary_lock(s), {"one", "another"});
}

SCENARIO(wake_readers_by_relay,
         "where readers wake each other, all that went to sleep on one CPU are woken",
         effort::small) {
  auto& lock = ordinary_lock(s);
  parking::set_relay(true, 1);
  s.cpus(1);
  wake_readers(s, lock, {"one", "another"});
}

SCENARIO(wake_readers_by_relay_of_another_cpu,
         "where readers wake each other, those are woken too that sleep on another CPU",
         effort::large) {
  auto& lock = ordinary_lock(s);
  parking::set_relay(true, 1);
  s.cpus(2);
  wake_readers(s, lock, {"first", "second", "third"});
}

SCENARIO(hand_over_without_bias,
         "a writer that waits takes over a lock whose bias is earned, and gives it back biased",
         effort::small) {
  s.turns(0);
  auto& scene = scene_on(s, unbiased_lock(s));
  scene.add_writer_inside("first");
  scene.add_writer("second");
  s.finally([&] {
    expect_all_given_back(scene.lock);
    expect(unit::is_biased(scene.lock), "the last writer has not given the bias that was earned");
  });
}

SCENARIO(hand_biased_to_reader,
         "a reader that enters passively sees what the writer wrote that gave the lock its bias",
         effort::small) {
  s.turns(0);
  auto& scene = scene_on(s, unbiased_lock(s));
  scene.add_writer_inside("writer");
  s.thread("reader", be_online, [&] { try_read_under(scene.lock, scene.data); });
}

}  // namespace readmost::model
