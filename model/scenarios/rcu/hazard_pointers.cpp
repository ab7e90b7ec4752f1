// SPDX-License-Identifier: Apache-2.0
// Hazard pointers: threads that protect an object against threads that unlink, retire and reclaim
// it.
#include <array>
#include <readmost/hazard_pointer.hpp>

#include "rcu/hazard_reclaimer.hpp"
#include "scenarios/lock_under_test.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

// The checker finds a read of an element that is or has been reclaimed.
struct element;
struct end_of_element {
  void operator()(element* gone) const noexcept;
};
struct element : hazard_pointer_obj_base<element, end_of_element> {
  explicit element(std::uint32_t content) : value(content) {}
  guarded data;
  variable<std::uint32_t> value;
  variable<bool> reclaimed{false};
};
void end_of_element::operator()(element* gone) const noexcept {
  expect(!gone->reclaimed.get(), "an object is reclaimed twice");
  gone->data.write();
  gone->reclaimed = true;
}

void read(const element& found) {
  found.data.read();
  expect(!found.reclaimed.get(), "a protected object is reclaimed");
}

using source = platform::atomic<element*>;

// An empty one, which a thread fills before the others start.
hazard_pointer& hazard(scenario& s, const char* name) {
  return s.make<hazard_pointer>(name);
}

// Tries to protect the object once.
void try_to_read(hazard_pointer& hazard, const source& from, element* expected) {
  element* found = expected;
  if (hazard.try_protect(found, from) && found != nullptr) read(*found);
}

// By a plain store, as a single writer may: no read-modify-write orders anything.
void unlink(source& from, element& what) {
  from.store(nullptr, platform::relaxed);
  what.retire();
}

void unlink_and_reclaim(source& from, element& what) {
  unlink(from, what);
  hazard_pointer_clean_up();
}

// What a thread does before the others start.
auto owner_of(hazard_pointer& mine, void (*before)() = be_online) {
  return [&mine, before] {
    before();
    mine = make_hazard_pointer();
  };
}
auto protector_of(const source& from, hazard_pointer& mine) {
  return [&from, &mine] {
    be_online();
    mine = make_hazard_pointer();
    mine.protect(from);
  };
}

// An object that `current` points to, its successor, and threads in their usual roles.
class cell {
 public:
  explicit cell(scenario& s)
      : first(s.make<element>("first", 1U)),
        second(s.make<element>("second", 2U)),
        current(s.make<source>("current", &first)),
        in_(s) {
    s.spins(0);
    find_out_once();
    // No scan is due, whatever the clock says.
    hazard_pointer_limit_backlog({.nanoseconds = ~std::uint64_t{0}});
  }

  // Returns the hazard pointer with which the reader tries to protect the object once.
  hazard_pointer& add_reader(void (*before)() = be_online) {
    hazard_pointer& mine = hazard(in_, "hazard");
    in_.thread("reader", owner_of(mine, before),
               [this, &mine] { try_to_read(mine, current, &first); });
    return mine;
  }
  void add_writer() {
    in_.thread("writer", be_known, [this] { unlink_and_reclaim(current, first); });
  }

  element& first;
  element& second;
  source& current;

 private:
  scenario& in_;
};

void try_to_read_by_a_new_one(const cell& from) {
  hazard_pointer mine = make_hazard_pointer();
  try_to_read(mine, from.current, &from.first);
}

void expect_reclaimed(const element& gone) {
  expect(gone.reclaimed.get(), "an object that no thread protects is not reclaimed");
}

}  // namespace

SCENARIO(hazard_against_reclaimer, "a hazard pointer keeps an object from being reclaimed",
         effort::small) {
  auto& from = s.make<cell>("cell", s);
  from.add_reader();
  from.add_writer();
}

SCENARIO(report_under_hazard,
         "a thread that reports while it protects an object goes on protecting it", effort::small) {
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread("reader", owner_of(mine), [&] {
    element* found = &from.first;
    if (!mine.try_protect(found, from.current)) return;
    report_if_asked();
    read(*found);
  });
  from.add_writer();
}

SCENARIO(
    hazard_after_a_round,
    "a scan that relies on an earlier round misses no hazard pointer of a thread which that made "
    "dormant",
    effort::small) {
  auto& from = s.make<cell>("cell", s);
  from.add_reader();
  s.thread("writer", be_known, [&] {
    run_round();
    unlink_and_reclaim(from.current, from.first);
  });
}

SCENARIO(dormant_hazard_against_reclaimer,
         "a hazard pointer of a thread that was dormant keeps an object from being reclaimed",
         effort::small) {
  auto& from = s.make<cell>("cell", s);
  from.add_reader(be_dormant);
  from.add_writer();
}

SCENARIO(new_hazard_against_reclaimer,
         "a hazard pointer made during the scan keeps an object from being reclaimed",
         effort::small) {
  auto& from = s.make<cell>("cell", s);
  s.thread("reader", [&] { try_to_read_by_a_new_one(from); });
  from.add_writer();
}

SCENARIO(hazard_without_membarrier,
         "without membarrier a hazard pointer keeps an object from being reclaimed",
         effort::small) {
  s.without_membarrier();
  auto& from = s.make<cell>("cell", s);
  from.add_reader();
  from.add_writer();
}

SCENARIO(hazard_protects_on,
         "an object is reclaimed only after its hazard pointer protects another", effort::small) {
  auto& from = s.make<cell>("cell", s);
  auto& other = s.make<source>("other", &from.second);
  auto& mine = hazard(s, "hazard");
  s.thread("reader", protector_of(from.current, mine), [&] {
    read(from.first);
    try_to_read(mine, other, &from.second);
  });
  from.add_writer();
}

SCENARIO(hazard_let_go, "an object is reclaimed once its hazard pointer lets go of it",
         effort::small) {
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread("reader", protector_of(from.current, mine), [&] {
    read(from.first);
    mine.reset_protection();
  });
  from.add_writer();
  s.finally([&] {
    hazard_pointer_clean_up();
    expect_reclaimed(from.first);
  });
}

SCENARIO(hazard_moved_to_another_thread,
         "a hazard pointer that moves to another thread keeps protecting", effort::small) {
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  auto& moved = hazard(s, "moved");
  auto& handed_over = s.make<signal>("handed over");
  auto& found = s.make<variable<element*>>("found", nullptr);
  s.thread("reader", owner_of(mine), [&] {
    element* expected = &from.first;
    if (mine.try_protect(expected, from.current)) found = expected;
    moved = std::move(mine);
    handed_over.give();
  });
  s.thread("second reader", be_known, [&] {
    handed_over.await();
    if (element* const protected_one = found.get()) read(*protected_one);
    moved.reset_protection();
  });
  from.add_writer();
}

SCENARIO(hazard_against_two_reclaimers,
         "two scans at once reclaim each object once, and no protected one", effort::large) {
  auto& from = s.make<cell>("cell", s);
  auto& other = s.make<source>("other", &from.second);
  auto& mine = from.add_reader();
  from.add_writer();
  s.thread("other writer", be_known, [&] { unlink_and_reclaim(other, from.second); });
  s.finally([&] {
    mine = hazard_pointer();
    hazard_pointer_clean_up();
    expect_reclaimed(from.first);
    expect_reclaimed(from.second);
  });
}

SCENARIO(object_retired_during_a_scan, "a scan reclaims no object that was retired after it began",
         effort::small) {
  auto& from = s.make<cell>("cell", s);
  from.add_reader();
  s.thread("writer", be_known, [&] { unlink(from.current, from.first); });
  s.thread("scanner", be_known, hazard_pointer_clean_up);
}

SCENARIO(
    object_of_another_thread_reclaimed_by_retiring,
    "a thread that retires when a scan is due reclaims what another thread has retired, unless "
    "it is protected",
    effort::large) {
  auto& from = s.make<cell>("cell", s);
  hazard_pointer_limit_backlog({.nanoseconds = 0});
  auto& mine = from.add_reader();
  s.thread("writer", be_known, [&] { unlink(from.current, from.first); });
  s.thread("other writer", be_known, [&] { from.second.retire(); });
  s.finally([&] {
    mine = hazard_pointer();
    hazard_pointer_clean_up();
    expect_reclaimed(from.first);
    expect_reclaimed(from.second);
  });
}

SCENARIO(replaced_object_is_whole, "a thread that protects an object finds it as it was published",
         effort::small) {
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread("reader", owner_of(mine), [&] {
    element* found = &from.second;
    if (mine.try_protect(found, from.current)) {
      expect(found->value.get() == 3, "a protected object is not as it was published");
    }
  });
  s.thread("writer", be_known, [&] {
    from.second.value = 3U;
    from.current.store(&from.second, platform::release);
  });
}

namespace {

// The next slot that the calling thread gives back goes to the slots of all threads.
void leave_no_room_for_slots() {
  my_record().hazards.spares = hazard_store::most_spares;
}

// A reader that reads and gives its hazard pointer back.
void add_giver_of_a_slot(scenario& s, const char* name, void (*before)(), cell& from) {
  auto& held = hazard(s, "held");
  s.thread(
      name,
      [&from, &held, before] {
        before();
        held = make_hazard_pointer();
        leave_no_room_for_slots();
        held.protect(from.current);
      },
      [&from, &held] {
        read(from.first);
        held = hazard_pointer();
      });
}

}  // namespace

SCENARIO(hazard_slot_passes_on,
         "a slot that another thread has given back protects for its next hazard pointer",
         effort::medium) {
  auto& from = s.make<cell>("cell", s);
  add_giver_of_a_slot(s, "last owner", be_known, from);
  s.thread("next owner", be_online, [&] {
    hazard_pointer mine = make_hazard_pointer();
    try_to_read(mine, from.current, &from.first);
    leave_no_room_for_slots();
  });
  from.add_writer();
}

SCENARIO(hazard_slot_given_back, "a scan that finds a slot free sees the end of its protection",
         effort::small) {
  auto& from = s.make<cell>("cell", s);
  add_giver_of_a_slot(s, "reader", be_online, from);
  from.add_writer();
}

namespace {

// Has the first block of slots belong to threads that are not simulated.
void take_all_slots(std::array<hazard_pointer, 64>& all) {
  for (hazard_pointer& each : all) each = make_hazard_pointer();
}

}  // namespace

SCENARIO(appended_hazard_slots, "threads that find no free slot append slots that all can use",
         effort::large) {
  auto& from = s.make<cell>("cell", s);
  auto& slots = s.make<std::array<hazard_pointer, 64>>("slots");
  for (const char* name : {"reader", "other reader"}) {
    s.thread(name, be_known, [&] { try_to_read_by_a_new_one(from); });
  }
  s.thread(
      "writer",
      [&] {
        be_known();
        take_all_slots(slots);
      },
      [&] { unlink_and_reclaim(from.current, from.first); });
}

// --- With a thread of the library's own

namespace {

struct large_object : retired {
  signal* reclaimed = nullptr;
};
// So large that a scan is due for one.
const retired_kind large{[](retired* object) noexcept {
                           auto* const self = static_cast<large_object*>(object);
                           self->reclaimed->give();
                         },
                         std::size_t{1} << 20U};

}  // namespace

SCENARIO(hazard_reclaimer_ends_over_a_full_list,
         "an object that is retired while the idle hazard reclaimer ends is reclaimed, or one is "
         "started for it",
         effort::medium) {
  s.spins(0);
  find_out_once();
  s.timeouts(1);
  hazard_pointer_limit_backlog({.bytes = large.bytes, .nanoseconds = ~std::uint64_t{0}});
  hazard_pointer_reclaim_by(reclaiming::in_background);
  s.starts_thread("reclaimer");
  tell_hazard_reclaimer(false);
  auto& object = s.make<large_object>("object");
  auto& reclaimed = s.make<signal>("reclaimed");
  object.reclaimed = &reclaimed;
  s.thread("writer", be_known, [&] {
    retire_hazardous(object, large);
    const bool was_refused = start_hazard_reclaimer_again.load(platform::relaxed) != 0;
    if (!was_refused) reclaimed.await();
    finish_hazard_reclaimer();
  });
}

}  // namespace readmost::model
