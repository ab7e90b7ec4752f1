// RCU as scenarios use it: what is published, how it is read and replaced, how it is retired, and
// what must hold when all is over. The operations are those behind the classes of readmost/rcu.hpp.
#pragma once

#include <readmost/detail/rcu/retired.hpp>

#include "scenarios/situations.hpp"

namespace readmost::model {

// To be called before anything else of RCU: what the library finds out once, at its first use. The
// scenario then ends with expect_no_sections_left(), unless it has a `finally` of its own.
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

void read_in_section(const published& what);
// The second half of a section that began, and found that, in `before`.
void read_and_leave(const guarded& found);
// Writes the old version after `wait`, which is the same to readers as taking it to pieces.
void replace_and_write(published& what, guarded& fresh, void (*wait)() = wait_for_readers);

// Two versions of something published, of which the first is to be found, and threads in their
// usual parts.
struct two_versions {
  scenario& in;
  guarded& first;
  guarded& second;
  published& current;

  // Looks for it in sections one after the other.
  void add_reader(const char* name, void (*before)(), unsigned sections = 1) const;
  // Is in a section, by `before`, that has found the first version.
  void add_reader_inside(const char* name, void (*before)()) const;
  // Puts the second version into the place of the first.
  void add_updater(const char* name, void (*wait)() = wait_for_readers) const;
};
two_versions publish(scenario& s, const char* name = "current");

// In `before` functions.
void be_inside();          // online, in a section
void be_dormant_inside();  // dormant since it entered
void be_long_idle_inside();
void be_being_retired();   // for ever: as while the thread of a round does not run
void be_counted_inside();  // its section is counted, because its record is being retired
void be_departed();        // past its exit: never has a record again
void be_departed_inside();

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
