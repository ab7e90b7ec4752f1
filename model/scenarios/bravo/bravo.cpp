// SPDX-License-Identifier: Apache-2.0
// Locks that bravo makes of others: their table of visible readers, revocation, and what policies
// change in either.
#include <readmost/bravo.hpp>

#include "scenarios/lock_scene.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// --- The locks underneath
// -------------------------------------------------------------------------

// The smallest reader-writer lock. A waiting writer does not keep readers out.
class small_lock {
 public:
  bool try_lock() noexcept { return change(0, written); }
  void lock() noexcept {
    while (!try_lock()) platform::yield();
  }
  void unlock() noexcept { state_.store(0, platform::release); }

  bool try_lock_shared() noexcept {
    const std::uint32_t readers = state_.load(platform::relaxed);
    return readers != written && change(readers, readers + 1);
  }
  void lock_shared() noexcept {
    while (!try_lock_shared()) platform::yield();
  }
  void unlock_shared() noexcept { state_.fetch_sub(1, platform::release); }

 private:
  static constexpr std::uint32_t written = ~0U;

  bool change(std::uint32_t from, std::uint32_t to) noexcept {
    return state_.compare_exchange_strong(from, to, platform::acquire, platform::relaxed);
  }

  platform::atomic<std::uint32_t> state_{0};
};

class small_mutex {
 public:
  bool try_lock() noexcept { return lock_.try_lock(); }
  void lock() noexcept { lock_.lock(); }
  void unlock() noexcept { lock_.unlock(); }

 private:
  small_lock lock_;
};

// --- Policies with few slots, under which all that may set the bias do
// ------------------------------------

// Slow readers set the bias, writers never do.
struct set_by_readers : eager_bias {
  static bool is_kept() noexcept { return false; }
};

struct small_policy : bravo_policy {
  using table = private_table<8>;
  using bias = eager_bias;
  static constexpr bool second_probe = false;
  static constexpr bool vector_scan = false;
};
struct readers_set_bias : small_policy {
  using bias = set_by_readers;
};
struct with_queue : readers_set_bias {
  static constexpr bool writers_queue = true;
};
struct in_own_slots : small_policy {
  static constexpr bool by_consensus = true;
};

// One slot for all locks and threads, so that all of them collide.
constinit visible_slot only_slot[1]{};
constinit slot_array only_array{only_slot, 0U, nullptr};
constinit growing_table table_of_one{only_array, 1};
struct in_one_slot : readers_set_bias {
  using table = table_that_grows<table_of_one>;
};

// One slot at first, two after the first collision.
constinit visible_slot first_slot[1]{};
constinit slot_array first_array{first_slot, 0U, nullptr};
constinit growing_table small_growing_table{first_array, 2};
struct in_growing_table : small_policy {
  using table = table_that_grows<small_growing_table>;
};

using small_bravo = bravo<small_lock, small_policy>;
using bravo_biased_by_readers = bravo<small_lock, readers_set_bias>;
using bravo_with_queue = bravo<small_lock, with_queue>;
using growing_bravo = bravo<small_lock, in_growing_table>;
using consensus_bravo = bravo<small_lock, in_own_slots>;

// --- Situations ---------------------------------------------------------------------------------

void be_reader() {
  be_known();
  expect(introduce_reader() != nullptr, "a thread does not become a reader");
}

void be_online_reader() {
  be_online();
  expect(introduce_reader() != nullptr, "a thread does not become a reader");
}

// The first reader, which is slow, sets the bias.
template <class Lock>
void make_biased(Lock& lock) {
  lock.lock_shared();
  lock.unlock_shared();
  expect(lock.is_biased(), "the scenario does not begin with a bias");
}

// Holds the lock in a slot of the calling thread.
template <class Lock>
void hold_in_slot(Lock& lock) {
  if (!lock.is_biased()) make_biased(lock);
  lock.lock_shared();
  expect(known_reader()->holds != 0, "the scenario does not begin with a hold in a slot");
}

// What a thread does before the others start.
template <class Lock>
auto first_reader_of(Lock& lock, void (*before)() = be_reader) {
  return [&lock, before] {
    before();
    make_biased(lock);
  };
}
template <class Lock>
auto holder_of(Lock& lock) {
  return [&lock] {
    be_reader();
    hold_in_slot(lock);
  };
}

// A lock whose holds go into the same slot of a reader's own as those of `other`.
template <class Lock>
Lock& in_slot_of(scenario& s, const Lock& other, const char* name) {
  for (;;) {
    auto& made = s.make<Lock>(name);
    if (home_slot(&made) == home_slot(&other)) return made;
  }
}

template <class Lock>
Lock& make_lock(scenario& s) {
  s.spins(0);
  find_out_once();
  return s.make<Lock>("lock");
}

// The lock must be free at the end.
template <class Lock>
auto& scene_of(scenario& s) {
  auto& lock = make_lock<Lock>(s);
  expect_free_at_the_end(s, lock);
  return scene_on(s, lock);
}

// A reader that sets the bias before the others start, and a writer.
template <class Lock>
void reader_against_writer(scenario& s, void (*before)() = be_reader) {
  auto& on = scene_of<Lock>(s);
  on.add_reader("reader", first_reader_of(on.lock, before)).add_writer();
}

template <class Lock>
void two_readers_against_writer(scenario& s) {
  scene_of<Lock>(s)
      .add_reader("reader", be_reader)
      .add_reader("other reader", be_reader)
      .add_writer();
}

}  // namespace

// --- Readers and writers ------------------------------------------------------------------------

SCENARIO(bravo_reader_against_writer,
         "a reader in a slot and a writer of a bravo lock are never inside at once",
         effort::small) {
  reader_against_writer<small_bravo>(s);
}

SCENARIO(bravo_reader_leaves,
         "a writer that finds a slot free sees the end of its reader's section", effort::small) {
  auto& on = scene_of<small_bravo>(s);
  on.add_reader_inside("reader", holder_of(on.lock)).add_writer();
}

SCENARIO(bravo_readers_against_writer,
         "two readers, of which one may be slow, and a writer are never inside at once",
         effort::medium) {
  two_readers_against_writer<small_bravo>(s);
}

SCENARIO(
    bravo_bias_set_by_reader,
    "a reader that enters by a bias which a slow reader has set sees what the last writer wrote",
    effort::small) {
  auto& on = scene_of<bravo_biased_by_readers>(s);
  s.thread("writer", be_reader, [&] {
    on.write();
    on.read();
  });
  on.add_reader("reader", be_reader);
}

SCENARIO(bravo_bias_set_while_holding,
         "a slow reader sets the bias only while no writer can be inside", effort::medium) {
  scene_of<bravo_biased_by_readers>(s)
      .add_reader("slow reader", be_reader)
      .add_reader("reader", be_reader)
      .add_writer();
}

SCENARIO(bravo_unknown_reader, "a reader that has never read before also enters through a slot",
         effort::small) {
  auto& on = scene_of<small_bravo>(s);
  s.thread("reader", [&] { on.read(); });
  on.add_writer("writer", first_reader_of(on.lock));
}

// --- Recursion ----------------------------------------------------------------------------------

SCENARIO(bravo_recursion_in_revocation,
         "a reader in a slot locks again while a writer waits for it, and is inside until it has "
         "unlocked twice",
         effort::small) {
  auto& on = scene_of<small_bravo>(s);
  s.thread("reader", holder_of(on.lock), [&] {
    on.lock.lock_shared();
    on.lock.unlock_shared();
    on.finish_reading();
  });
  on.add_writer();
}

SCENARIO(bravo_recursion_over_mutex,
         "a reader that has the mutex underneath locks again without taking it", effort::small) {
  auto& on = scene_of<bravo<small_mutex, readers_set_bias>>(s);
  const auto hold = [&] {
    be_reader();
    on.lock.lock_shared();
  };
  s.thread("reader", hold, [&] {
    on.read();
    on.lock.unlock_shared();
  });
  on.add_writer();
}

SCENARIO(bravo_recursion_over_mutex_without_bias,
         "a reader of a lock that is never biased keeps the mutex until its last unlock",
         effort::small) {
  struct never_biased : small_policy {
    using bias = drawn_bias<~0U>;
  };
  auto& on = scene_of<bravo<small_mutex, never_biased>>(s);
  for (const char* name : {"reader", "other reader"}) {
    s.thread(name, be_reader, [&] {
      on.lock.lock_shared();
      on.lock.lock_shared();
      on.lock.unlock_shared();
      on.data.write();  // no other thread has the mutex
      on.lock.unlock_shared();
    });
  }
}

SCENARIO(bravo_over_mutex,
         "readers and a writer of a bravo lock over a mutex are never inside at once",
         effort::medium) {
  two_readers_against_writer<bravo<small_mutex, small_policy>>(s);
}

// --- Slots that several locks use ---------------------------------------------------------------

namespace {

using bravo_in_one_slot = bravo<small_lock, in_one_slot>;

// A reader is inside, in the only slot there is; the other lock is biased too.
struct shared_slot : standard_scene<bravo_in_one_slot> {
  explicit shared_slot(scenario& s)
      : standard_scene(s, make_lock<bravo_in_one_slot>(s)),
        other(s.make<bravo_in_one_slot>("other lock")) {
    add_reader_inside("reader", [this] {
      be_reader();
      make_biased(other);
      hold_in_slot(lock);
    });
  }

  bravo_in_one_slot& other;
};

}  // namespace

SCENARIO(bravo_slot_passes_on,
         "a writer that finds another lock in a slot sees the end of the section before",
         effort::medium) {
  auto& on = s.make<shared_slot>("scene", s);
  s.thread("reader of the other", be_reader, [&] {
    on.other.lock_shared();
    on.other.lock_shared();
    on.other.unlock_shared();
    on.other.unlock_shared();
  });
  on.add_writer();
}

SCENARIO(bravo_slot_passes_on_nested, "the same where the reader of the other lock keeps it",
         effort::medium) {
  auto& on = s.make<shared_slot>("scene", s);
  s.thread("reader of the other", be_reader, [&] {
    on.other.lock_shared();
    on.other.lock_shared();
    on.other.lock_shared();
    on.other.unlock_shared();
  });
  on.add_writer();
}

SCENARIO(
    bravo_slot_taken_back,
    "a writer that finds a slot free sees the end of the section before, although a reader that "
    "came too late has used the slot since",
    effort::medium) {
  auto& on = s.make<shared_slot>("scene", s);
  s.thread("reader of the other", be_reader, [&] {
    on.other.lock_shared();
    on.other.unlock_shared();
  });
  s.thread("writer", be_known, [&] {
    on.other.lock();
    on.other.unlock();
    on.write();
  });
}

// --- Trying -------------------------------------------------------------------------------------

SCENARIO(bravo_try_gives_bias_back,
         "a writer that tries enters if no thread is inside, and otherwise leaves the bias set",
         effort::small) {
  auto& on = scene_of<bravo_biased_by_readers>(s);
  on.add_reader_inside("reader", holder_of(on.lock));
  s.thread("writer", be_known, [&] {
    if (on.try_write()) return;
    expect(on.lock.is_biased(), "a writer that gives up leaves the lock unbiased");
  });
}

SCENARIO(bravo_bias_given_back,
         "a reader that enters by a bias which a writer gave back sees what the last writer wrote",
         effort::medium) {
  auto& on = scene_of<small_bravo>(s);
  s.thread("writer", first_reader_of(on.lock), [&] {
    on.write();
    if (on.lock.try_lock()) on.lock.unlock();
  });
  for (const char* name : {"reader", "other reader"}) {
    s.thread(name, be_reader, [&] { on.try_read(); });
  }
}

SCENARIO(bravo_two_writers,
         "a writer, one that tries and a reader of a bravo lock are never inside at once",
         effort::medium) {
  auto& on = scene_of<small_bravo>(s);
  on.add_reader("reader", first_reader_of(on.lock));
  on.add_writer();
  s.thread("other writer", be_known, [&] { on.try_write(); });
}

// --- Writers in a queue -------------------------------------------------------------------------

SCENARIO(bravo_queue_reader_against_writer,
         "a reader and a writer of a bravo lock with a writers' queue are never inside at once",
         effort::small) {
  reader_against_writer<bravo_with_queue>(s);
}

SCENARIO(bravo_readers_enter_in_revocation,
         "while a writer in the queue revokes, readers enter through the lock underneath",
         effort::medium) {
  auto& on = scene_of<bravo_with_queue>(s);
  auto& inside = s.make<signal>("inside");
  s.thread("reader", holder_of(on.lock), [&] {
    inside.await();
    on.finish_reading();
  });
  s.thread("reader in between", be_reader, [&] {
    // Tried, since after the revocation the writer may well have the lock underneath first.
    on.lock.lock_shared();
    inside.give();
    on.finish_reading();
  });
  on.add_writer();
}

SCENARIO(bravo_bias_not_set_in_revocation,
         "no reader sets the bias while a writer in the queue takes it away", effort::medium) {
  auto& on = scene_of<bravo_with_queue>(s);
  s.thread("reader", first_reader_of(on.lock), [&] {
    on.read();
    on.read();
  });
  on.add_writer();
}

SCENARIO(bravo_bias_set_too_late,
         "a reader that found the lock unbiased does not set the bias after a writer has come",
         effort::large) {
  auto& on = scene_of<bravo_with_queue>(s);
  on.add_reader("late reader", be_reader);
  s.thread("reader", be_reader, [&] {
    on.read();
    on.read();
  });
  on.add_writer();
}

SCENARIO(
    bravo_queue_gives_bias_back,
    "a writer that finds the lock underneath taken gives the bias back, and a reader that enters "
    "by it sees what the last writer wrote",
    effort::medium) {
  auto& on = scene_of<bravo_with_queue>(s);
  s.thread("writer", be_reader, [&] {
    on.write();
    on.read();
  });
  s.thread("one that tries", be_reader, [&] {
    if (on.lock.try_lock()) {
      on.lock.unlock();
    } else if (on.lock.is_biased()) {
      on.read();
    }
  });
}

SCENARIO(bravo_writers_queue, "a writer that sleeps in the queue is woken", effort::medium) {
  scene_of<bravo_with_queue>(s).add_writer().add_writer("other writer");
}

// --- Tables that grow ---------------------------------------------------------------------------

SCENARIO(bravo_hold_in_older_slots,
         "a writer waits for a reader whose slot is in an array that is no longer the newest",
         effort::small) {
  auto& on = scene_of<growing_bravo>(s);
  on.add_reader_inside("reader", [&] {
    be_reader();
    hold_in_slot(on.lock);
    small_growing_table.grow_to(2);
  });
  on.add_writer();
}

SCENARIO(bravo_table_grows, "a reader and a writer are never inside at once while the table grows",
         effort::medium) {
  auto& on = scene_of<growing_bravo>(s);
  on.add_reader("reader", first_reader_of(on.lock));
  s.thread("grows the table", be_known, [&] { small_growing_table.grow_to(2); });
  on.add_writer();
}

// --- By consensus -------------------------------------------------------------------------------

SCENARIO(bravo_own_slot_against_writer,
         "a reader in a slot of its own and a writer are never inside at once", effort::small) {
  reader_against_writer<consensus_bravo>(s, be_online_reader);
}

SCENARIO(bravo_report_in_own_slot,
         "a thread that reports while it holds a lock in a slot of its own keeps its hold",
         effort::small) {
  auto& on = scene_of<consensus_bravo>(s);
  s.thread("reader", first_reader_of(on.lock, be_online_reader), [&] {
    if (!on.lock.try_lock_shared()) return;
    report_if_asked();
    on.finish_reading();
  });
  on.add_writer();
}

SCENARIO(bravo_own_slot_after_a_round,
         "a writer misses no reader in a slot of its own that an earlier round made dormant",
         effort::small) {
  auto& on = scene_of<consensus_bravo>(s);
  s.thread("reader", first_reader_of(on.lock, be_online_reader), [&] { on.try_read(); });
  s.thread("writer", be_known, [&] {
    run_round();
    on.try_write();
  });
}

SCENARIO(bravo_dormant_own_slot, "a reader that was dormant comes online and enters",
         effort::small) {
  auto& on = scene_of<consensus_bravo>(s);
  on.add_reader("reader", [&] {
    be_online_reader();
    make_biased(on.lock);
    go_offline(my_record());
  });
  on.add_writer();
}

SCENARIO(bravo_own_slot_without_membarrier,
         "without membarrier all readers take the lock underneath", effort::small) {
  s.without_membarrier();
  auto& on = scene_of<consensus_bravo>(s);
  s.thread("reader", be_reader, [&] {
    on.read();
    expect(!on.lock.is_biased(), "a lock is biased although no reader can enter by its bias");
  });
  on.add_writer();
}

SCENARIO(
    bravo_own_slot_of_next_lock,
    "a writer that finds another lock in a reader's own slot sees the end of the section before",
    effort::small) {
  auto& on = scene_on(s, make_lock<consensus_bravo>(s));
  auto& other = in_slot_of(s, on.lock, "other lock");
  const auto hold = [&] {
    be_online_reader();
    make_biased(other);
    hold_in_slot(on.lock);
  };
  s.thread("reader", hold, [&] {
    on.finish_reading();
    other.lock_shared();
  });
  on.add_writer();
}

SCENARIO(bravo_own_slots_of_exited_thread,
         "a writer that finds a record free sees the end of its last owner's sections",
         effort::small) {
  auto& on = scene_of<consensus_bravo>(s);
  on.add_reader_inside("reader", [&] {
    be_online_reader();
    hold_in_slot(on.lock);
    // In the state in which rounds leave a thread that need not report.
    go_offline(my_record());
    seem_long_idle();
  });
  s.exits_at_once();
  on.add_writer("writer", [] {
    be_known();
    run_round();
  });
}

}  // namespace readmost::model
