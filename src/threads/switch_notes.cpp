// SPDX-License-Identifier: Apache-2.0
#include "threads/switch_notes.hpp"

#include <linux/futex.h>

#include <initializer_list>
#include <readmost/detail/platform/mutant.hpp>

namespace readmost::detail {

void begin_switch_notes(thread_record& me) noexcept {
  switch_notes* const pages = notes_of_switches.load(platform::relaxed);
  if (pages == nullptr || chunk_of(me).domain != 0) return;
  const std::uint64_t number = number_in_domain(me) + 1;
  if (number >= READMOST_SWITCH_NOTES) return;
  const std::uint64_t period = (me.note.load(platform::relaxed) >> 32) + 1;
  // Nothing that is noted of the record's earlier threads is believed for this one.
  switch_note& note = pages->notes[number];
  for (auto* word :
       {&note.state, &note.switches, &note.holding, &note.inside, &note.lock, &note.seen}) {
    word->store(0, platform::relaxed);
  }
  me.note.store(period << 32 | number, platform::relaxed);
}

namespace {

// Whether the kernel's half is loaded, and takes notes back: somebody holds the futex.
bool are_taken_back(switch_notes& pages) noexcept {
  const std::uint32_t holder = pages.holder().load(platform::relaxed);
  return holder != 0 && (holder & FUTEX_OWNER_DIED) == 0;
}

}  // namespace

bool says_switched_out(switch_notes& pages, const thread_record& record) noexcept {
  const std::uint64_t whose = record.note.load(platform::relaxed);
  const auto number = static_cast<std::uint32_t>(whose);
  // (SW3) Pairs with (SW1): what the thread did before it was switched out is visible.
  return number != 0 &&
         pages.notes[number].state.load(at(letter::SW3, platform::acquire)) ==
             (whose >> 32 << 1 | 1) &&
         (are_taken_back(pages) || is_mutant(mutant::believes_what_is_left));
}

}  // namespace readmost::detail
