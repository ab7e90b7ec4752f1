// SPDX-License-Identifier: Apache-2.0
#include "scenarios/simulated_kernel.hpp"

#include <linux/futex.h>

#include <readmost/detail/platform/mutant.hpp>

#include "scenarios/classic/fences.hpp"
#include "threads/switch_notes.hpp"

namespace readmost::model {

using namespace detail;

namespace {

constinit switch_notes pages;
constinit platform::atomic<std::uint32_t> unloaded{};

bool is_loaded() {
  return unloaded.load(platform::acquire) == 0;
}

// Calls note(state, period) for the note of the calling thread, if the kernel's half is loaded.
template <class Note>
void with_own_note(Note note) {
  const std::uint64_t whose = my_record().note.load(platform::relaxed);
  const auto number = static_cast<std::uint32_t>(whose);
  if (number != 0 && is_loaded()) note(pages.notes[number].state, whose >> 32);
}

}  // namespace

void begin_switch_help(scenario& s) {
  s.run().name(&pages.holder(), sizeof pages.holder(), "the keeper's futex");
  s.run().name(&unloaded, sizeof unloaded, "unloaded");
  for (unsigned i = 1; i < max_threads; ++i) {
    s.run().name(&pages.notes[i].state, sizeof pages.notes[i].state, "note " + std::to_string(i));
  }
  pages.holder().store(1, platform::relaxed);
  notes_of_switches.store(&pages, platform::relaxed);
}

void switch_out() {
  with_own_note([](auto& note, std::uint64_t period) {
    // (SW1) Pairs with (SW3): what the thread has done is visible behind the note.
    note.exchange(period << 1 | 1, at(letter::SW1, platform::release));
  });
}

void switch_in() {
  with_own_note([](auto& note, std::uint64_t period) {
    if (is_mutant(mutant::note_taken_back_late)) {
      note.store(period << 1, platform::relaxed);
      return;
    }
    note.exchange(period << 1, platform::relaxed);
    // (SW2) Pairs with (K1) and (SW4): what the thread reads from now on comes after the note.
    platform::full_fence_after_rmw(letter::SW2);
  });
}

void may_be_switched(scenario& s) {
  s.may_be_switched(1, [] {
    switch_out();
    switch_in();
  });
}

void end_keeper() {
  pages.holder().exchange(1 | FUTEX_OWNER_DIED, platform::relaxed);
  // The kernel's compare-and-swap of the futex is a full fence.
  fence(std::memory_order_seq_cst);
  unloaded.store(1, platform::release);
}

}  // namespace readmost::model
