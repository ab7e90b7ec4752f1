// Hazard pointers: who protects an object against who unlinks, retires and reclaims it.
#include <array>
#include <readmost/hazard_pointer.hpp>

#include "registry.hpp"
#include "scenarios/situations.hpp"

namespace readmost::model {

namespace {

// Whoever reads one that has been reclaimed, or while it is being reclaimed, is found.
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

// An object that `source` points to, and what takes its place.
struct cell {
  explicit cell(scenario& s)
      : first(s.make<element>("first", 1U)),
        second(s.make<element>("second", 2U)),
        current(s.make<source>("current", &first)) {
    // What the library finds out once, at its first use.
    passive_possible();
    watch_forks();
  }

  element& first;
  element& second;
  source& current;
};

// Empty: a thread makes it before the others start.
hazard_pointer& hazard(scenario& s, const char* name) {
  return s.make<hazard_pointer>(name);
}

// One look: succeeds or not.
void try_to_read(hazard_pointer& hazard, const source& from, element* expected) {
  element* found = expected;
  if (hazard.try_protect(found, from) && found != nullptr) read(*found);
}

// By a plain store, as a writer may that is alone: no read-modify-write orders anything.
void unlink_and_reclaim(cell& from) {
  from.current.store(nullptr, platform::relaxed);
  from.first.retire();
  hazard_pointer_clean_up();
}

}  // namespace

SCENARIO(hazard_against_reclaimer, "a hazard pointer keeps an object from being reclaimed",
         effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
      },
      [&] { try_to_read(mine, from.current, &from.first); });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

SCENARIO(report_under_hazard,
         "a thread that reports while it protects an object goes on protecting it", effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
      },
      [&] {
        element* found = &from.first;
        if (!mine.try_protect(found, from.current)) return;
        report_if_asked();
        read(*found);
      });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

SCENARIO(hazard_after_a_round,
         "a scan that trusts an earlier round misses no hazard pointer of a thread that this made "
         "dormant",
         effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
      },
      [&] { try_to_read(mine, from.current, &from.first); });
  s.thread("writer", be_known, [&] {
    run_round();
    unlink_and_reclaim(from);
  });
}

SCENARIO(dormant_hazard_against_reclaimer,
         "a hazard pointer of a thread that was dormant keeps an object from being reclaimed",
         effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_dormant();
        mine = make_hazard_pointer();
      },
      [&] { try_to_read(mine, from.current, &from.first); });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

SCENARIO(new_hazard_against_reclaimer,
         "a hazard pointer that is made meanwhile keeps an object from being reclaimed",
         effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  s.thread("reader", [&] {
    hazard_pointer mine = make_hazard_pointer();
    try_to_read(mine, from.current, &from.first);
  });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

SCENARIO(hazard_without_membarrier,
         "where there is no membarrier a hazard pointer keeps an object from being reclaimed",
         effort::small) {
  s.turns(0);
  s.without_membarrier();
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
      },
      [&] { try_to_read(mine, from.current, &from.first); });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

SCENARIO(hazard_protects_on,
         "what a hazard pointer protected before may be reclaimed, after its use", effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& other = s.make<source>("other", &from.second);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
        mine.protect(from.current);
      },
      [&] {
        read(from.first);
        try_to_read(mine, other, &from.second);
      });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

SCENARIO(hazard_let_go, "what a hazard pointer protected may be reclaimed once it is let go of",
         effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
        mine.protect(from.current);
      },
      [&] {
        read(from.first);
        mine.reset_protection();
      });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
  s.finally([&] {
    hazard_pointer_clean_up();
    expect(from.first.reclaimed.get(), "what nobody protects is not reclaimed");
  });
}

SCENARIO(hazard_moved_to_another_thread,
         "a hazard pointer that moves to another thread goes on protecting", effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  auto& moved = hazard(s, "moved");
  auto& handed_over = s.make<signal>("handed over");
  auto& found = s.make<variable<element*>>("found", nullptr);
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
      },
      [&] {
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
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

SCENARIO(hazard_against_two_reclaimers,
         "two scans at once reclaim each object once, and none that is protected", effort::large) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& other = s.make<source>("other", &from.second);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
      },
      [&] { try_to_read(mine, from.current, &from.first); });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
  s.thread("other writer", be_known, [&] {
    other.store(nullptr, platform::relaxed);
    from.second.retire();
    hazard_pointer_clean_up();
  });
  s.finally([&] {
    mine = hazard_pointer();
    hazard_pointer_clean_up();
    expect(from.first.reclaimed.get() && from.second.reclaimed.get(),
           "what nobody protects is not reclaimed");
  });
}

SCENARIO(object_retired_during_a_scan, "a scan reclaims nothing that was retired after it began",
         effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
      },
      [&] { try_to_read(mine, from.current, &from.first); });
  s.thread("writer", be_known, [&] {
    from.current.store(nullptr, platform::relaxed);
    from.first.retire();
  });
  s.thread("scanner", be_known, [&] { hazard_pointer_clean_up(); });
}

SCENARIO(replaced_object_is_whole, "who protects an object finds it as it was published",
         effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& mine = hazard(s, "hazard");
  s.thread(
      "reader",
      [&] {
        be_online();
        mine = make_hazard_pointer();
      },
      [&] {
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

SCENARIO(hazard_slot_passes_on,
         "a slot that another thread gave back protects for its next hazard pointer",
         effort::medium) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& held = hazard(s, "held");
  s.thread(
      "last owner",
      [&] {
        // Without room for it, so the slot goes to everybody.
        be_known();
        held = make_hazard_pointer();
        my_record().hazards.spares = hazard_store::most_spares;
        held.protect(from.current);
      },
      [&] {
        read(from.first);
        held = hazard_pointer();
      });
  s.thread("next owner", be_online, [&] {
    hazard_pointer mine = make_hazard_pointer();
    try_to_read(mine, from.current, &from.first);
    my_record().hazards.spares = hazard_store::most_spares;
  });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

SCENARIO(hazard_slot_given_back, "a scan that finds a slot free is behind its protection",
         effort::small) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& held = hazard(s, "held");
  s.thread(
      "reader",
      [&] {
        be_online();
        held = make_hazard_pointer();
        my_record().hazards.spares = hazard_store::most_spares;
        held.protect(from.current);
      },
      [&] {
        read(from.first);
        held = hazard_pointer();
      });
  s.thread("writer", be_known, [&] { unlink_and_reclaim(from); });
}

namespace {

// The first block of slots belongs to threads that are not simulated.
void take_all_slots(std::array<hazard_pointer, 64>& all) {
  for (hazard_pointer& each : all) each = make_hazard_pointer();
}

}  // namespace

SCENARIO(appended_hazard_slots, "threads that find no slot free append what all can use",
         effort::large) {
  s.turns(0);
  auto& from = s.make<cell>("cell", s);
  auto& slots = s.make<std::array<hazard_pointer, 64>>("slots");
  for (const char* name : {"reader", "other reader"}) {
    s.thread(name, be_known, [&] {
      hazard_pointer mine = make_hazard_pointer();
      try_to_read(mine, from.current, &from.first);
    });
  }
  s.thread(
      "writer",
      [&] {
        be_known();
        take_all_slots(slots);
      },
      [&] { unlink_and_reclaim(from); });
}

}  // namespace readmost::model
