// RCU as scenarios use it: what is published, how it is read and replaced, how it is retired, and
// what must hold when all is over. The operations are those behind the classes of readmost/rcu.hpp.
#pragma once

#include <readmost/retired.hpp>

#include "scenarios/situations.hpp"

namespace readmost::model {

// To be called before anything else of RCU: what the library finds out once, at its first use.
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

// What readers find by a pointer.
class published {
 public:
  explicit published(guarded& first) : now_(&first) {}
  // Inside a section.
  const guarded& find() const { return *now_.load(platform::acquire); }
  // What readers find no more, once a grace period is over. For one updater at a time.
  guarded& replace(guarded& fresh) {
    guarded& old = *now_.load(platform::relaxed);
    now_.store(&fresh, platform::release);
    return old;
  }

 private:
  platform::atomic<guarded*> now_;
};

// Two versions of something published: the first is to be found.
struct two_versions {
  guarded& first;
  guarded& second;
  published& current;
};
two_versions publish(scenario& s, const char* name = "current");

void read_in_section(const published& what);
// Writes the old version, which is the same to readers as taking it to pieces.
void replace_and_write(published& what, guarded& fresh);

// In `before` functions.
void be_inside();     // online, in a section
void be_long_idle();  // dormant, and one more round takes it out of the index
void be_long_idle_inside();
void be_being_retired();  // for ever: as while the thread of a round does not run
void be_departed();       // past its exit: never has a record again

// Ends the grace periods' and the readers' part of a scenario.
void expect_no_sections_left();

// An object with a deleter that writes what readers may be reading.
struct retiree : retired {
  explicit retiree(guarded& of) : data(of) {}
  guarded& data;
  platform::variable<std::uint32_t> reclaimed{0};
  // What the deleter does besides.
  closure then;
};
// `then` may be null.
void retire(retiree& object);

}  // namespace readmost::model
