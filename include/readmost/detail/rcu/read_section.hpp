// SPDX-License-Identifier: Apache-2.0
// Read sections of RCU: entering and leaving (FCP 5, Fig. 7).
//
// A thread publishes its section by a plain store to its own record. It does not check anything
// shared afterwards, so it never has to retry. A grace period first reaches consensus with the
// domain, as a writer of a lock does, and then waits for the sections that it sees. A thread that
// leaves its outermost section after that reports the grace period's version, so the grace period
// need not catch it outside. Versions have 64 bits, so one phase is enough.
#pragma once

#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// --- Slow paths ----------------------------------------------------------------------------------

// Enters a section that the record alone cannot note: there is no record, or the section is counted
// in the domain.
[[gnu::noinline, gnu::cold]] void enter_section_slow(unsigned domain) noexcept;
// Makes visible to rounds a section whose thread was not online when it published it.
[[gnu::noinline, gnu::cold]] void confirm_section(thread_record& me) noexcept;
// Leaves a section that is not noted in the record alone.
[[gnu::noinline, gnu::cold]] void leave_section_slow(unsigned domain) noexcept;

// Whether the calling thread is inside a read section of the domain.
bool is_in_section(unsigned domain) noexcept;

// Reports a protected pointer that is read outside of all read sections of the domain, if misuse is
// checked. Called from programs built with READMOST_RCU_CHECK.
[[gnu::noinline]] void check_dereference(unsigned domain) noexcept;

// --- Fast paths ----------------------------------------------------------------------------------

// Publishes a section, then reads the mode of its thread.
inline void publish_section(thread_record& me, unsigned domain) noexcept {
  const std::uint64_t section = me.section.load(platform::relaxed);
  if (section == 0) [[likely]] {
    me.section.store(1, platform::relaxed);  // a constant: no wait for the load
  } else if (section < section_nesting) {
    me.section.store(section + 1, platform::relaxed);
  } else {
    enter_section_slow(domain);
    return;
  }
  // (G1) Light fence: the section is stored before anything is read inside, and before the mode is
  // read, as with (B) in rwlock.hpp. Made a full one by the heavy fence (H) in consensus.cpp, by a
  // report (E1, E2) or by coming online (F), whichever the grace period relied on.
  platform::light_fence(letter::G1);
  // Also when it is nested: this may be a signal handler that interrupted the outer one just here.
  if (!is_online(me)) [[unlikely]] {
    confirm_section(me);
  }
}

#if defined(READMOST_FAULTS)
#include <mutants/read_sections.hpp>
#endif

// Enters a read section, or nests in the one the thread is in. No atomic read-modify-write, no
// fence, no store to a line that another thread writes. `me`: the caller's record in the domain.
inline void enter_section(thread_record& me, unsigned domain) noexcept {
  READMOST_VARIANT(section_after_mode, publish_section(me, domain),
                   publish_section_after_look(me, domain));
}

// Leaves the section entered last. Once the outermost one is left, the objects read inside may be
// reclaimed. Reports if a round has asked.
inline void leave_section(thread_record& me, unsigned domain) noexcept {
  const std::uint64_t section = me.section.load(platform::relaxed);
  if (section == 1) [[likely]] {
    // (G2) Pairs with (G4) in grace_period.cpp: a thread that sees the section over sees everything
    // that was done inside.
    me.section.store(0, at(letter::G2, platform::release));
    // (G3) Light fence: (G2) before the load of the version. As (D1) in rwlock.hpp.
    platform::light_fence(letter::G3);
    if (domains[domain].version.load(platform::relaxed) != me.seen.load(platform::relaxed))
        [[unlikely]] {
      report_after_release(me, nullptr);
    }
  } else if (section - 2 < section_nesting - 2) {
    me.section.store(is_mutant(mutant::forgets_nesting) ? 0 : section - 1, platform::relaxed);
  } else {
    leave_section_slow(domain);
  }
}

// A section of the calling thread, for as long as the object lives.
class section_scope {
 public:
  explicit section_scope(unsigned domain) noexcept : me_(my_record(domain)), domain_(domain) {
    enter_section(me_, domain_);
  }
  ~section_scope() { leave_section(me_, domain_); }
  section_scope(const section_scope&) = delete;
  section_scope& operator=(const section_scope&) = delete;

 private:
  thread_record& me_;
  unsigned domain_;
};

}  // namespace readmost::detail
