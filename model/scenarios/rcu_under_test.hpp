// SPDX-License-Identifier: Apache-2.0
// RCU as scenarios use it: what is published, how it is read, replaced and retired, and what must
// hold at the end. The operations are those behind the classes of readmost/rcu.hpp.
#pragma once

#include <readmost/detail/rcu/retired.hpp>

#include "scenarios/lock_scene.hpp"

namespace readmost::model {

// Must be called before anything else of RCU. The scenario then ends with
// expect_no_sections_left(), unless it sets a `finally` of its own.
void begin_rcu(scenario& s);

inline void enter() {
  enter_section(my_record(), 0);
}
inline void leave() {
  leave_section(my_record(), 0);
}
inline void wait_for_readers() {
  synchronize(default_domain, urgency::normal);
}

// A pointer that readers follow.
class published {
 public:
  explicit published(guarded& first) : now_(&first) {}
  // To be called inside a section.
  const guarded& find() const { return *now_.load(platform::acquire); }
  // Returns the old version, which no reader finds any more after a grace period. There may be one
  // updater at a time.
  guarded& replace(guarded& fresh) {
    guarded& old = *now_.load(platform::relaxed);
    now_.store(&fresh, platform::release);
    return old;
  }

 private:
  platform::atomic<guarded*> now_;
};

// The second half of a section that began, and found that version, in `before`.
void read_and_leave(const guarded& found);

// Two versions of some data, of which readers find the first, and threads in their usual roles.
struct two_versions {
  scenario& in;
  guarded& first;
  guarded& second;
  published& current;

  // A section of the calling thread.
  void read() const;
  // Has readers find `fresh`, and writes the old version after `wait`: to readers that is the same
  // as reclaiming it.
  void replace_and_write(guarded& fresh, void (*wait)() = wait_for_readers) const;

  // `body` takes the versions, or nothing.
  template <class Before, class Body>
  const two_versions& thread(const char* name, Before before, Body body) const {
    in.thread(name, before, [versions = *this, body] {
      if constexpr (std::is_invocable_v<const Body&, const two_versions&>) {
        body(versions);
      } else {
        body();
      }
    });
    return *this;
  }
  // Finds the current version, in one section after the other.
  const two_versions& add_reader(const char* name, void (*before)(), unsigned sections = 1) const;
  // Is in a section, by `before`, that has found the first version.
  const two_versions& add_reader_inside(const char* name, void (*before)()) const;
  // Replaces the first version by the second.
  const two_versions& add_updater(const char* name = "updater",
                                  void (*wait)() = wait_for_readers) const;
  const two_versions& exits_at_once() const;
};
two_versions& publish(scenario& s, const char* name = "current");
// begin_rcu() and publish().
two_versions& begin_with_two_versions(scenario& s);

// --- What a thread does before the others start
void be_inside();          // online, in a section
void be_dormant_inside();  // dormant since it entered
void be_long_idle_inside();
void be_being_retired();   // for ever, as if the round that retires it stood still
void be_counted_inside();  // in a section that is counted, since its record is being retired
void be_departed();        // past its exit: never has a record again
void be_departed_inside();

// Expects that no grace period is in progress and that no thread is in a section.
void expect_no_sections_left();

// An object with a deleter that writes what readers may be reading.
struct retiree : retired {
  explicit retiree(guarded& of) : data(of) {}
  guarded& data;
  platform::variable<std::uint32_t> reclaimed{0};
  closure then;  // runs in the deleter, before the write; may be empty
};
void retire(retiree& object);

}  // namespace readmost::model
