// SPDX-License-Identifier: Apache-2.0
// The simulated machine's lock of the shape of glibc's (simulation/): readers that begin a phase
// for all, and hand-overs that are late.
#include <simulation/glibc_like_rwlock.hpp>

#include "scenarios/lock_scene.hpp"

namespace readmost::model {

namespace {

struct with_pauses : simulation::as_glibc {
  static void pause() noexcept { detail::platform::yield(); }
};
struct readers_in_a_hurry : with_pauses {
  static constexpr bool readers_await_hand_over = false;
};

template <class Behaviour = with_pauses>
auto& glibc_like_scene(scenario& s) {
  auto& on = scene_on(s, s.make<simulation::basic_glibc_like_rwlock<Behaviour>>("lock"));
  s.finally([&on] {
    expect(on.lock.try_lock_shared(), "no thread is inside, but a reader is refused");
    on.lock.unlock_shared();
    expect(on.lock.try_lock(), "no thread is inside, but a writer is refused");
    on.lock.unlock();
  });
  return on;
}

// For `before`: the phase of a writer that has left.
template <class Lock>
auto leave_in_writer_phase(Lock& lock) {
  return [&lock] {
    lock.lock();
    lock.unlock();
  };
}

template <class Behaviour>
void reader_against_writers(scenario& s) {
  auto& on = glibc_like_scene<Behaviour>(s);
  on.add_reader("reader", leave_in_writer_phase(on.lock));
  for (const char* name : {"one", "another"}) on.add_writer(name);
}

}  // namespace

SCENARIO(glibc_like_reader_against_writers,
         "a reader whose phase a writer has begun does not begin the next before that writer has "
         "handed over",
         effort::medium) {
  reader_against_writers<with_pauses>(s);
}

BROKEN_SCENARIO(glibc_like_readers_in_a_hurry,
                "a hand-over that is late undoes that of a later phase", effort::small,
                lost_wake_up, under_all) {
  reader_against_writers<readers_in_a_hurry>(s);
}

SCENARIO(glibc_like_writer_against_readers,
         "a writer whose phase a reader has begun does not begin the next before that reader has "
         "handed over",
         effort::medium) {
  auto& on = glibc_like_scene(s);
  for (const char* name : {"one", "another"}) on.add_reader(name, be_known);
  on.add_writer();
}

SCENARIO(glibc_like_two_writers, "the second of two writers is woken", effort::small) {
  auto& on = glibc_like_scene(s);
  for (const char* name : {"one", "another"}) on.add_writer(name);
}

SCENARIO(glibc_like_both_try, "a reader and a writer that try are never inside at once",
         effort::small) {
  auto& on = glibc_like_scene(s);
  on.thread("reader", leave_in_writer_phase(on.lock), [&on] { on.try_read(); });
  on.thread("writer", be_known, [&on] { on.try_write(); });
}

}  // namespace readmost::model
