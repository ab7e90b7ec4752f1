// SPDX-License-Identifier: Apache-2.0
// The rivals that are reader-writer locks, all in the same situations, and the two whose readers do
// not lock.
#include <rivals/all.hpp>
#include <rivals/seq_lock.hpp>
#include <rivals/tests/broken_locks.hpp>

#include "scenarios/rcu_under_test.hpp"

namespace {

// A defect: writers go on without the fence.
bool fence_forgotten = false;

}  // namespace

namespace rivals {

bool heavy_fence() noexcept {
  if (fence_forgotten) return true;
  return readmost::model::execution::current()->membarrier(std::source_location::current());
}

}  // namespace rivals

namespace readmost::model {

namespace {

// A rival with a thread's data and roles, which must be free at the end.
template <class Lock, class... Arguments>
standard_scene<Lock>& scene_of(scenario& s, Arguments... of_lock) {
  begin_rcu(s);
  rivals::has_heavy_fence();
  fence_forgotten = false;
  auto& on = scene_on(s, s.make<Lock>("lock", of_lock...));
  s.finally([&on] {
    expect_no_sections_left();
    expect(on.lock.try_lock_shared(), "no thread is inside, but a reader is refused");
    on.lock.unlock_shared();
    expect(on.lock.try_lock(), "no thread is inside, but a writer is refused");
    on.lock.unlock();
  });
  return on;
}

// For `before`: gives the thread its place.
void be_at_home() {
  enlist();
  rivals::home();
}

// The same for a thread that has read under the lock, so that it takes the fast path if there is
// one.
template <class Lock>
auto be_reader_of(Lock& lock) {
  return [&lock] {
    be_at_home();
    lock.lock_shared();
    lock.unlock_shared();
  };
}

template <class Lock, class... Arguments>
void reader_against_writer(scenario& s, Arguments... of_lock) {
  auto& on = scene_of<Lock>(s, of_lock...);
  on.add_reader("reader", be_reader_of(on.lock));
  on.add_writer("writer", be_at_home);
}

template <class Lock>
void reader_comes_back(scenario& s) {
  auto& on = scene_of<Lock>(s);
  s.thread("reader", be_reader_of(on.lock), [&] {
    on.read();
    on.read();
  });
  on.add_writer("writer", be_at_home);
}

template <class Lock>
void two_writers(scenario& s) {
  auto& on = scene_of<Lock>(s);
  for (const char* name : {"one", "another"}) on.add_writer(name, be_at_home);
}

template <class Lock>
void both_try(scenario& s) {
  auto& on = scene_of<Lock>(s);
  s.thread("reader", be_reader_of(on.lock), [&] { on.try_read(); });
  s.thread("writer", be_at_home, [&] { on.try_write(); });
}

// One reader leaves while the other stays: they share a place, in locks that have places.
template <class Lock, class... Arguments>
void two_readers_of_one_place(scenario& s, Arguments... of_lock) {
  s.cpus(1);
  auto& on = scene_of<Lock>(s, of_lock...);
  for (const char* name : {"one", "another"}) on.add_reader(name, be_reader_of(on.lock));
  on.add_writer("writer", be_at_home);
}

template <class Lock>
void recursive_reader(scenario& s) {
  auto& on = scene_of<Lock>(s);
  s.thread("reader", be_reader_of(on.lock), [&] {
    on.lock.lock_shared();
    on.read();
    on.finish_reading();
  });
  on.add_writer("writer", be_at_home);
}

}  // namespace

// `size` is that of scenarios in which each of two threads locks once, `larger` that of others.
#define RIVAL_SCENARIOS(name, lock, size, larger)                                                  \
  SCENARIO(rival_##name##_reader_against_writer, "a reader and a writer are never inside at once", \
           size) {                                                                                 \
    reader_against_writer<rivals::lock>(s);                                                        \
  }                                                                                                \
  SCENARIO(rival_##name##_reader_comes_back,                                                       \
           "a reader that comes back and a writer are never inside at once", larger) {             \
    reader_comes_back<rivals::lock>(s);                                                            \
  }                                                                                                \
  SCENARIO(rival_##name##_two_writers, "two writers are never inside at once", size) {             \
    two_writers<rivals::lock>(s);                                                                  \
  }                                                                                                \
  SCENARIO(rival_##name##_both_try, "a reader and a writer that try are never inside at once",     \
           size) {                                                                                 \
    both_try<rivals::lock>(s);                                                                     \
  }                                                                                                \
  SCENARIO(rival_##name##_two_readers, "a writer waits for the last of two readers of one CPU",    \
           larger == effort::small ? effort::medium : effort::large) {                             \
    two_readers_of_one_place<rivals::lock>(s);                                                     \
  }

RIVAL_SCENARIOS(ba, pf_q, effort::small, effort::small)
RIVAL_SCENARIOS(brlock, brlock_mutexes, effort::small, effort::small)
RIVAL_SCENARIOS(brlock_flags, brlock_flags, effort::small, effort::small)
RIVAL_SCENARIOS(c_snzi, csnzi_rwlock, effort::small, effort::small)
RIVAL_SCENARIOS(cohort_rw, cohort_rwlock, effort::small, effort::small)
RIVAL_SCENARIOS(per_cpu, per_cpu_lock, effort::small, effort::small)
RIVAL_SCENARIOS(percpu_rwlock, percpu_rwlock, effort::medium, effort::large)
RIVAL_SCENARIOS(pf_t, pf_t, effort::small, effort::small)
RIVAL_SCENARIOS(rmlock, rmlock, effort::small, effort::small)
RIVAL_SCENARIOS(stamped, stamped_lock, effort::small, effort::small)
RIVAL_SCENARIOS(tlrw, tlrw_byte_lock, effort::small, effort::small)

#undef RIVAL_SCENARIOS

// Rivals whose readers may lock again while a writer waits.
#define RECURSIVE_RIVAL(name, lock)                                                        \
  SCENARIO(rival_##name##_recursive_reader,                                                \
           "a reader that is inside may lock again while a writer waits", effort::small) { \
    recursive_reader<rivals::lock>(s);                                                     \
  }

RECURSIVE_RIVAL(brlock, brlock_mutexes)
RECURSIVE_RIVAL(brlock_flags, brlock_flags)
RECURSIVE_RIVAL(rmlock, rmlock)
RECURSIVE_RIVAL(tlrw, tlrw_byte_lock)

#undef RECURSIVE_RIVAL

// Threads beyond those that have a flag or counter of their own in the lock.
SCENARIO(rival_brlock_flags_reader_without_a_flag,
         "a reader that is only counted keeps a writer out", effort::small) {
  reader_against_writer<rivals::brlock_flags>(s, 0U);
}

SCENARIO(rival_percpu_rwlock_reader_without_a_counter,
         "a reader that is only counted keeps a writer out", effort::medium) {
  reader_against_writer<rivals::percpu_rwlock>(s, 0U);
}

SCENARIO(rival_rmlock_reader_without_membarrier,
         "where there is no membarrier a reader is counted and keeps a writer out", effort::small) {
  s.without_membarrier();
  reader_against_writer<rivals::rmlock>(s);
}

SCENARIO(rival_rmlock_two_writers_that_take_tokens,
         "the second of two writers need not wait for readers that the first has seen leave",
         effort::medium) {
  auto& on = scene_of<rivals::rmlock>(s);
  on.add_reader("reader", be_reader_of(on.lock));
  for (const char* name : {"one", "another"}) on.add_writer(name, be_at_home);
}

// Every reader arrives at its leaf, and both have the same leaf.
SCENARIO(rival_c_snzi_readers_at_a_leaf, "the last of two readers of a leaf lets the writer in",
         effort::large) {
  two_readers_of_one_place<rivals::csnzi_rwlock>(s, 0U);
}

SCENARIO(rival_c_snzi_reader_at_a_leaf, "a reader at a leaf and a writer are never inside at once",
         effort::small) {
  reader_against_writer<rivals::csnzi_rwlock>(s, 0U);
}

// --- Broken locks, which the same situations must reveal

#define BROKEN_RIVAL(missing, situation, shows, kind, fails_under)                 \
  BROKEN_SCENARIO(rival_with_##missing, shows, effort::small, kind, fails_under) { \
    situation<rivals::test::small_rwlock<rivals::test::defect::missing>>(s);       \
  }

BROKEN_RIVAL(reader_does_not_look, reader_against_writer, "a reader that does not look enters",
             data_race, under_all)
BROKEN_RIVAL(writer_does_not_wait, reader_against_writer,
             "a writer that does not wait for a reader enters", data_race, under_all)
BROKEN_RIVAL(writers_together, two_writers, "writers that do not look at each other enter",
             data_race, under_all)
BROKEN_RIVAL(first_to_leave_is_last, two_readers_of_one_place,
             "a writer that takes one reader for all enters", data_race, under_all)
BROKEN_RIVAL(no_fence, reader_against_writer,
             "a reader that looks before its mark is visible enters", data_race,
             under_tso | under_release_acquire)
BROKEN_RIVAL(relaxed_unlock, two_writers, "a writer does not see what the last one wrote",
             data_race, under_all)
BROKEN_RIVAL(relaxed_departure, reader_against_writer,
             "a writer writes what a reader has not read yet", data_race, under_all)
BROKEN_RIVAL(try_goes_past_readers, both_try, "a writer that tries enters while a reader is inside",
             data_race, under_all)
BROKEN_RIVAL(try_goes_past_writer, both_try, "a reader that tries enters while a writer is inside",
             data_race, under_all)
BROKEN_RIVAL(failed_try_leaves_a_mark, both_try, "a writer that tried and gave up is still counted",
             assertion, under_all)
BROKEN_RIVAL(seen_by_itself, recursive_reader,
             "a reader waits for a writer that waits for that reader", livelock, under_all)

#undef BROKEN_RIVAL

SCENARIO(rival_with_no_defect, "the lock that the broken ones are made of works", effort::small) {
  reader_against_writer<rivals::test::small_rwlock<rivals::test::defect::none>>(s);
}

BROKEN_SCENARIO(rival_rmlock_without_fence,
                "a reader whose tracker is not visible yet enters beside a writer", effort::small,
                data_race, under_tso | under_release_acquire) {
  reader_against_writer<rivals::rmlock>(s);
  fence_forgotten = true;
}

// --- Reading without locking

namespace {

struct pair_of {
  rivals::sequenced<std::uint32_t> left{0};
  rivals::sequenced<std::uint32_t> right{0};

  void write(std::uint32_t value) {
    left = value;
    right = value;
  }
};

template <class Lock>
void add_writer(scenario& s, Lock& lock, pair_of& data) {
  s.thread("writer", [&] {
    lock.lock();
    data.write(1);
    lock.unlock();
  });
}

}  // namespace

SCENARIO(rival_seq_lock_reader_against_writer, "a reader gets two values that belong together",
         effort::small) {
  auto& lock = s.make<rivals::seq_lock>("lock");
  auto& data = s.make<pair_of>("data");
  s.thread("reader", [&] {
    const bool same = lock.read([&] {
      const std::uint32_t left = data.left;
      return left == data.right;
    });
    expect(same, "a reader got half of what was written");
  });
  add_writer(s, lock, data);
}

SCENARIO(rival_seq_lock_two_writers, "two writers are never inside at once", effort::small) {
  auto& on = scene_on(s, s.make<rivals::seq_lock>("lock"));
  for (const char* name : {"one", "another"}) on.add_writer(name, [] {});
}

SCENARIO(rival_stamped_optimistic_reader,
         "two values that are read under a valid stamp belong together", effort::small) {
  auto& lock = s.make<rivals::stamped_lock>("lock");
  auto& data = s.make<pair_of>("data");
  s.thread("reader", [&] {
    const auto stamp = lock.try_optimistic_read();
    const std::uint32_t left = data.left;
    const std::uint32_t right = data.right;
    if (lock.validate(stamp))
      expect(left == right, "a valid stamp covers half of what was written");
  });
  add_writer(s, lock, data);
}

BROKEN_SCENARIO(rival_stamp_not_validated,
                "two values that are read under an unchecked stamp may not belong together",
                effort::small, assertion, under_all) {
  auto& lock = s.make<rivals::stamped_lock>("lock");
  auto& data = s.make<pair_of>("data");
  s.thread("reader", [&] {
    if (lock.try_optimistic_read() == 0) return;
    const std::uint32_t left = data.left;
    expect(left == data.right, "a reader got half of what was written");
  });
  add_writer(s, lock, data);
}

SCENARIO(rival_stamped_optimistic_reader_among_readers,
         "a reader that counts itself leaves stamps valid", effort::small) {
  auto& on = scene_on(s, s.make<rivals::stamped_lock>("lock"));
  s.thread("optimist", [&] {
    const auto stamp = on.lock.try_optimistic_read();
    expect(on.lock.validate(stamp), "a stamp is invalid, but no thread has written");
  });
  on.add_reader("reader", [] {});
}

}  // namespace readmost::model
