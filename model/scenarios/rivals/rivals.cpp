// The rivals that are reader-writer locks, all in the same situations, and the two that are read
// without locking.
#include <rivals/all.hpp>
#include <rivals/seq_lock.hpp>
#include <rivals/tests/broken_locks.hpp>

#include "scenarios/rcu_under_test.hpp"

namespace {

// A defect: writers go on without.
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

template <class Lock, class... Arguments>
Lock& make_rival(scenario& s, Arguments... of_lock) {
  begin_rcu(s);
  rivals::has_heavy_fence();
  fence_forgotten = false;
  return s.make<Lock>("lock", of_lock...);
}

// In `before` functions: a thread that has a place.
void be_at_home() {
  enlist();
  rivals::home();
}

// The same; and it has read under that lock, so that it is on the fast path if there is one.
template <class Lock>
auto be_reader_of(Lock& lock) {
  return [&lock] {
    be_at_home();
    lock.lock_shared();
    lock.unlock_shared();
  };
}

template <class Lock>
void read_once(Lock& lock, const guarded& data) {
  lock.lock_shared();
  data.read();
  lock.unlock_shared();
}

template <class Lock>
void write_once(Lock& lock, guarded& data) {
  lock.lock();
  data.write();
  lock.unlock();
}

// When all is over nobody is inside.
template <class Lock>
void expect_free(scenario& s, Lock& lock) {
  s.finally([&lock] {
    expect(lock.try_lock_shared(), "a reader is refused and nobody is inside");
    lock.unlock_shared();
    expect(lock.try_lock(), "a writer is refused and nobody is inside");
    lock.unlock();
  });
}

template <class Lock, class... Arguments>
void reader_against_writer(scenario& s, Arguments... of_lock) {
  auto& lock = make_rival<Lock>(s, of_lock...);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_reader_of(lock), [&] { read_once(lock, data); });
  s.thread("writer", be_at_home, [&] { write_once(lock, data); });
  expect_free(s, lock);
}

template <class Lock>
void reader_comes_back(scenario& s) {
  auto& lock = make_rival<Lock>(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_reader_of(lock), [&] {
    read_once(lock, data);
    read_once(lock, data);
  });
  s.thread("writer", be_at_home, [&] { write_once(lock, data); });
}

template <class Lock>
void two_writers(scenario& s) {
  auto& lock = make_rival<Lock>(s);
  auto& data = s.make<guarded>("data");
  for (const char* name : {"one", "another"}) {
    s.thread(name, be_at_home, [&] { write_once(lock, data); });
  }
  expect_free(s, lock);
}

template <class Lock>
void both_try(scenario& s) {
  auto& lock = make_rival<Lock>(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_reader_of(lock), [&] {
    if (!lock.try_lock_shared()) return;
    data.read();
    lock.unlock_shared();
  });
  s.thread("writer", be_at_home, [&] {
    if (!lock.try_lock()) return;
    data.write();
    lock.unlock();
  });
  expect_free(s, lock);
}

// One reader leaves while the other stays: they share a place, where there are places.
template <class Lock, class... Arguments>
void two_readers_of_one_place(scenario& s, Arguments... of_lock) {
  s.cpus(1);
  auto& lock = make_rival<Lock>(s, of_lock...);
  auto& data = s.make<guarded>("data");
  for (const char* name : {"one", "another"}) {
    s.thread(name, be_reader_of(lock), [&] { read_once(lock, data); });
  }
  s.thread("writer", be_at_home, [&] { write_once(lock, data); });
  expect_free(s, lock);
}

template <class Lock>
void recursive_reader(scenario& s) {
  auto& lock = make_rival<Lock>(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_reader_of(lock), [&] {
    lock.lock_shared();
    lock.lock_shared();
    data.read();
    lock.unlock_shared();
    data.read();
    lock.unlock_shared();
  });
  s.thread("writer", be_at_home, [&] { write_once(lock, data); });
  expect_free(s, lock);
}

}  // namespace

// `size`: where each of two threads locks once; `larger`: where there is more.
#define RIVAL_SCENARIOS(name, lock, size, larger)                                                  \
  SCENARIO(rival_##name##_reader_against_writer, "a reader and a writer are never inside at once", \
           size) {                                                                                 \
    reader_against_writer<rivals::lock>(s);                                                        \
  }                                                                                                \
  SCENARIO(rival_##name##_reader_comes_back, "a reader that comes back finds no writer inside",    \
           larger) {                                                                               \
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

// Those whose readers may lock again behind a writer that waits.
#define RECURSIVE_RIVAL(name, lock)                                                     \
  SCENARIO(rival_##name##_recursive_reader,                                             \
           "a reader that is inside may come in again, whoever waits", effort::small) { \
    recursive_reader<rivals::lock>(s);                                                  \
  }

RECURSIVE_RIVAL(brlock, brlock_mutexes)
RECURSIVE_RIVAL(brlock_flags, brlock_flags)
RECURSIVE_RIVAL(rmlock, rmlock)
RECURSIVE_RIVAL(tlrw, tlrw_byte_lock)

#undef RECURSIVE_RIVAL

// Threads beyond those that have something of their own in the lock.
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
  auto& lock = make_rival<rivals::rmlock>(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", be_reader_of(lock), [&] { read_once(lock, data); });
  for (const char* name : {"one", "another"}) {
    s.thread(name, be_at_home, [&] { write_once(lock, data); });
  }
  expect_free(s, lock);
}

// Every reader at its leaf, and both have the same.
SCENARIO(rival_c_snzi_readers_at_a_leaf, "the last of two readers of a leaf lets the writer in",
         effort::medium) {
  two_readers_of_one_place<rivals::csnzi_rwlock>(s, 0U);
}

SCENARIO(rival_c_snzi_reader_at_a_leaf, "a reader at a leaf and a writer are never inside at once",
         effort::small) {
  reader_against_writer<rivals::csnzi_rwlock>(s, 0U);
}

// --- Broken ones, found by the same functions

#define BROKEN_RIVAL(missing, situation, shows, kind, fails_under)                 \
  BROKEN_SCENARIO(rival_with_##missing, shows, effort::small, kind, fails_under) { \
    situation<rivals::test::small_rwlock<rivals::test::defect::missing>>(s);       \
  }

BROKEN_RIVAL(reader_does_not_look, reader_against_writer, "a reader that does not look enters",
             data_race, under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(writer_does_not_wait, reader_against_writer,
             "a writer that does not wait for a reader enters", data_race,
             under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(writers_together, two_writers, "writers that do not look at each other enter",
             data_race, under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(first_to_leave_is_last, two_readers_of_one_place,
             "a writer that takes one reader for all enters", data_race,
             under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(no_fence, reader_against_writer,
             "a reader that looks before its mark is visible enters", data_race,
             under_tso | under_release_acquire)
BROKEN_RIVAL(relaxed_unlock, two_writers, "a writer does not see what the last one wrote",
             data_race, under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(relaxed_departure, reader_against_writer,
             "a writer writes what a reader has not read yet", data_race,
             under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(try_goes_past_readers, both_try, "a writer that tries enters while a reader is inside",
             data_race, under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(try_goes_past_writer, both_try, "a reader that tries enters while a writer is inside",
             data_race, under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(failed_try_leaves_a_mark, both_try, "a writer that tried and gave up is still there",
             assertion, under_sequential | under_tso | under_release_acquire)
BROKEN_RIVAL(seen_by_itself, recursive_reader, "a reader waits for the writer that waits for it",
             livelock, under_sequential | under_tso | under_release_acquire)

#undef BROKEN_RIVAL

SCENARIO(rival_with_no_defect, "the lock that the broken ones are made of is whole",
         effort::small) {
  reader_against_writer<rivals::test::small_rwlock<rivals::test::defect::none>>(s);
}

BROKEN_SCENARIO(rival_rmlock_without_fence,
                "a reader whose tracker is not visible yet enters beside a writer", effort::small,
                data_race, under_tso | under_release_acquire) {
  reader_against_writer<rivals::rmlock>(s);
  fence_forgotten = true;
}

// --- Read without locking

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

SCENARIO(rival_seq_lock_reader_against_writer, "what a reader is given belongs together",
         effort::small) {
  auto& lock = s.make<rivals::seq_lock>("lock");
  auto& data = s.make<pair_of>("data");
  s.thread("reader", [&] {
    const bool same = lock.read([&] {
      const std::uint32_t left = data.left;
      return left == data.right;
    });
    expect(same, "a reader was given half of what was written");
  });
  add_writer(s, lock, data);
}

SCENARIO(rival_seq_lock_two_writers, "two writers are never inside at once", effort::small) {
  auto& lock = s.make<rivals::seq_lock>("lock");
  auto& data = s.make<guarded>("data");
  for (const char* name : {"one", "another"}) {
    s.thread(name, [&] { write_once(lock, data); });
  }
}

SCENARIO(rival_stamped_optimistic_reader,
         "what is read under a stamp that is valid belongs together", effort::small) {
  auto& lock = s.make<rivals::stamped_lock>("lock");
  auto& data = s.make<pair_of>("data");
  s.thread("reader", [&] {
    const auto stamp = lock.try_optimistic_read();
    const std::uint32_t left = data.left;
    const std::uint32_t right = data.right;
    if (lock.validate(stamp)) expect(left == right, "a valid stamp with half of what was written");
  });
  add_writer(s, lock, data);
}

BROKEN_SCENARIO(rival_stamp_not_validated,
                "what is read under a stamp that nobody asks about is torn", effort::small,
                assertion, under_sequential | under_tso | under_release_acquire) {
  auto& lock = s.make<rivals::stamped_lock>("lock");
  auto& data = s.make<pair_of>("data");
  s.thread("reader", [&] {
    if (lock.try_optimistic_read() == 0) return;
    const std::uint32_t left = data.left;
    expect(left == data.right, "half of what was written");
  });
  add_writer(s, lock, data);
}

SCENARIO(rival_stamped_optimistic_reader_among_readers,
         "a reader that counts itself leaves stamps as they are", effort::small) {
  auto& lock = s.make<rivals::stamped_lock>("lock");
  auto& data = s.make<guarded>("data");
  s.thread("optimist", [&] {
    const auto stamp = lock.try_optimistic_read();
    expect(lock.validate(stamp), "a stamp is not valid and nobody has written");
  });
  s.thread("reader", [&] { read_once(lock, data); });
}

}  // namespace readmost::model
