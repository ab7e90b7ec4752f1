// SPDX-License-Identifier: Apache-2.0
// The slow paths of read sections: for threads that are not online or have no record, and for all
// threads if misuse is checked.
//
// Without membarrier no thread can be online, and a reader executes a fence at each section
// (stay_visible). A section that a record cannot note is counted in the domain, in one of two
// phases: if there is no memory for a record, if a signal interrupted its making, if the thread is
// past its exit, or while a round takes its record out of the index.
//
// A signal handler may interrupt at any instruction and nest a section. It undoes all that it does
// to the word `section`, so a value loaded before it is valid after it: a count that it makes at
// its own nesting ends with that nesting.
#include <initializer_list>
#include <readmost/detail/rcu/read_section.hpp>

#include "platform/tools.hpp"
#include "rcu/misuse.hpp"
#include "threads/parts.hpp"
#include "threads/registry.hpp"

namespace readmost::detail {

namespace {

// The bits that counting sets in the word.
constexpr std::uint64_t count_bits =
    section_counted | section_counted_in_second | ~std::uint64_t{0} << section_count_shift;

constexpr bool is_counted(std::uint64_t section) noexcept {
  return (section & count_bits) != 0;
}

// The word `section` of a thread that has no record in the domain.
READMOST_THREAD_LOCAL std::uint64_t unrecorded_sections[max_domains];

std::uint64_t count_in(domain& d) noexcept {
  const std::uint32_t phase = d.counting_phase.load(platform::relaxed) & 1;
  d.counted_sections[phase].fetch_add(1, platform::relaxed);
  // (G6) Pairs with (K1) in consensus.cpp: either the grace period sees the count, or this thread
  // sees the initiator's writes.
  platform::full_fence_after_rmw(letter::G6);
  return phase == 0 ? section_counted : section_counted_in_second;
}

void uncount(domain& d, std::uint64_t section) noexcept {
  tools::happens_before(&d);
  const unsigned phase = (section & section_counted_in_second) != 0 ? 1 : 0;
  // (G8) Pairs with (G9): the section happens before any load that sees the count lowered. A leader
  // that sleeps is not missed, by (O3), which reaches threads without a record as well.
  d.counted_sections[phase].fetch_sub(1, at(letter::G8, platform::release));
  wake_drain_sleepers(d, nullptr);
}

// Precondition: (G2) has been executed.
void report_if_left(thread_record& me) noexcept {
  // As (G3).
  platform::light_fence(letter::G3);
  if (domain_of(me).version.load(platform::relaxed) != me.seen.load(platform::relaxed)) {
    report_after_release(me, nullptr);
  }
}

}  // namespace

void enter_section_slow(unsigned domain) noexcept {
  if (enlist(domain) == nullptr) {
    std::uint64_t& section = unrecorded_sections[domain];
    section = is_open(section) ? section + 1 : count_in(domains[domain]) + 1;
    return;
  }
  thread_record& me = my_record(domain);
  const std::uint64_t section = me.section.load(platform::relaxed);
  me.section.store(section + 1, platform::relaxed);
  if (is_counted(section)) return;  // no grace period can miss it
  // As (G1).
  platform::light_fence(letter::G1);
  if (!is_online(me)) {
    confirm_section(me);
  }
  if (section == section_checked && checks_misuse()) note_entry(me, __builtin_return_address(0));
}

void confirm_section(thread_record& me) noexcept {
  if (come_online(me) || stay_visible(me)) {
    // Otherwise a stream of new threads could keep a grace period waiting for ever.
    const std::uint64_t section = me.section.load(platform::relaxed);
    if ((section & section_nesting) == 1) report_new_section(me);
    return;
  }
  // A round is taking the record out of the index. The section is first counted and then, after
  // (G6), marked as counted: a grace period that reads this word (G4) and then the counts sees it
  // in at least one place.
  const std::uint64_t counted = count_in(domain_of(me));
  const std::uint64_t section = me.section.load(platform::relaxed);
  me.section.store(section | counted | (section & section_nesting) << section_count_shift,
                   platform::relaxed);
}

void leave_section_slow(unsigned domain) noexcept {
  thread_record& me = my_record(domain);
  const std::uint64_t section = me.section.load(platform::relaxed);
  if (&me == &unregistered || !is_open(section)) {
    std::uint64_t& unrecorded = unrecorded_sections[domain];
    if (!is_open(unrecorded)) {
      diagnose_misuse(misuse::unlock_without_lock, domain, __builtin_return_address(0));
      return;
    }
    const std::uint64_t left = unrecorded - 1;
    unrecorded = is_open(left) ? left : 0;
    // Last: a section that a signal handler opens before must not rely on this count.
    if (!is_open(left)) uncount(domains[domain], left);
    return;
  }
  const bool outermost = !is_open(section - 1);
  if (outermost && (section & section_checked) != 0) note_exit(me);
  if (outermost) tools::happens_before(&me.section);
  const bool was_counted_here = counted_at(section) == (section & section_nesting);
  // As (G2).
  me.section.store(was_counted_here ? (section - 1) & ~count_bits : section - 1,
                   at(letter::G2, platform::release));
  // As above.
  if (was_counted_here) uncount(domains[domain], section);
  if (outermost) report_if_left(me);
}

namespace {

void mark_if_checked(thread_record& me) noexcept {
  // Read-modify-write: for a thread that reads this, the last owner's sections have happened before
  // as well.
  if (!checks_misuse() && !tools::are_present()) return;
  me.section.fetch_or(section_checked, platform::relaxed);
  tools::happens_after(&me.section);
}

void abandon_sections(thread_record& me) noexcept {
  const std::uint64_t section = me.section.load(platform::relaxed);
  if (is_open(section) && (section & section_checked) != 0) {
    diagnose_misuse(misuse::exit_inside, chunk_of(me).domain, nullptr);
    note_exit(me);
  }
  // (G10) As (G2).
  me.section.store(0, at(letter::G10, platform::release));
  // The caller wakes a leader that sleeps.
  if (is_counted(section)) uncount(domain_of(me), section);
}

void recount_sections(unsigned domain) noexcept {
  auto& counts = domains[domain].counted_sections;
  counts[0].store(0, platform::relaxed);
  counts[1].store(0, platform::relaxed);
  const thread_record& me = my_record(domain);
  const std::uint64_t recorded = &me == &unregistered ? 0 : me.section.load(platform::relaxed);
  for (const std::uint64_t section : {recorded, unrecorded_sections[domain]}) {
    if ((section & section_counted) != 0) counts[0].fetch_add(1, platform::relaxed);
    if ((section & section_counted_in_second) != 0) counts[1].fetch_add(1, platform::relaxed);
  }
}

}  // namespace

constinit part read_sections_part{
    .on_enlist = mark_if_checked, .on_exit = abandon_sections, .in_child = [] {
      for_each_orphan([](thread_record& record) { record.section.store(0, platform::relaxed); });
      for (unsigned number = 0; number < max_domains; ++number) recount_sections(number);
    }};

bool is_in_section(unsigned domain) noexcept {
  const thread_record& me = my_record(domain);
  return is_open(unrecorded_sections[domain]) ||
         (&me != &unregistered && is_open(me.section.load(platform::relaxed)));
}

}  // namespace readmost::detail
