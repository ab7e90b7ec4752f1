// SPDX-License-Identifier: Apache-2.0
#include "lock/observation.hpp"

#include "lock/lock_check.hpp"
#include "threads/parts.hpp"

namespace readmost::detail {

constinit platform::atomic<observers> observers_{observers::undecided};
constinit bool locks_are_known_to_tool = false;

namespace {

READMOST_EARLY void decide_early() noexcept {
  decide_on_observers();
}

// Holds of observed locks are noted behind the first note (observation.hpp).
void occupy_first_note(thread_record& me) noexcept {
  if (is_observed()) me.noted[0] = held_again;
}

bool tools_ask() noexcept {
  return tools::are_present() && !locks_are_known_to_tool;
}

constexpr tools::acquisition as_told(hold_kind kind, rules how) noexcept {
  return {.writes = kind == hold_kind::write, .tries = how.try_only || how.until != nullptr};
}

}  // namespace

// The tools first hear that the thread ends.
constinit part observation_part{.on_enlist = occupy_first_note,
                                .on_exit =
                                    [](thread_record&) {
                                      if (!is_observed()) return;
                                      lock_check::end_thread();
                                      tools::stop_in_this_thread();
                                    },
                                .in_child =
                                    [] {
                                      if (is_observed()) lock_check::begin_child();
                                    }};

bool decide_on_observers() noexcept {
  const bool observed = lock_check::is_on() || tools::are_present();
  observers_.store(observed ? observers::somebody : observers::nobody, platform::relaxed);
  return observed;
}

void observe_new_lock(const rwlock& lock) noexcept {
  // Also the words that a surface keeps before the core.
  tools::hide(program_address(lock), offset_of_core + sizeof lock);
  lock_check::begin_life(lock);
}

void observe_destruction(const rwlock& lock) noexcept {
  lock_check::end_life(lock);
  // One that was never used is not known to the tools.
  const bool met = (lock.traits.load(platform::relaxed) & rwlock::met) != 0;
  if (met && tools_ask()) tools::destroy(program_address(lock));
}

void observe_release(const rwlock& lock, hold_kind kind) noexcept {
  lock_check::release(lock, kind);
  if (tools_ask()) tools::release(program_address(lock), kind == hold_kind::write);
}

void observe_refused_release(const rwlock& lock, hold_kind kind) noexcept {
  lock_check::refuse_release(lock, kind);
}

void observe_downgrade(const rwlock& lock) noexcept {
  lock_check::downgrade(lock);
  if (!tools_ask()) return;
  constexpr tools::acquisition reads{.tries = true};
  tools::release(program_address(lock), true);
  tools::begin_acquisition(program_address(lock), reads);
  tools::end_acquisition(program_address(lock), reads, true);
}

void observe_vain_wait(const rwlock& lock, hold_kind kind) noexcept {
  lock_check::wait(lock, kind, {});
}

void observe_wait(const rwlock& lock, hold_kind kind, rules how) noexcept {
  lock_check::wait(lock, kind, how);
  if (tools_ask()) tools::begin_acquisition(program_address(lock), as_told(kind, how));
}

void observe_end_of_wait(const rwlock& lock, hold_kind kind, rules how, outcome result) noexcept {
  const bool acquired = result == outcome::acquired;
  if (tools_ask()) tools::end_acquisition(program_address(lock), as_told(kind, how), acquired);
  if (acquired) lock_check::acquire(lock, kind);
}

void observe_wait_for_upgrade(const rwlock& lock, rules how) noexcept {
  lock_check::wait_for_upgrade(lock, how);
}

void observe_end_of_upgrade(const rwlock& lock, outcome result) noexcept {
  if (result != outcome::acquired) return;
  if (tools_ask()) {
    constexpr tools::acquisition writes{.writes = true, .tries = true};
    tools::release(program_address(lock), false);
    tools::begin_acquisition(program_address(lock), writes);
    tools::end_acquisition(program_address(lock), writes, true);
  }
  lock_check::upgrade(lock);
}

}  // namespace readmost::detail
