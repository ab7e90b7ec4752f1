// The library's lock as scenarios use it: how it is made, and what must hold when all is over. The
// operations themselves are those of tests/support/surface.hpp, which the public surfaces are made
// of.
#pragma once

#include <readmost/detail/lock/rwlock.hpp>

#include "catalogue.hpp"
#include "support/surface.hpp"

namespace readmost::model {

using platform::variable;
namespace unit = test;

// A bare lock, met before by somebody, with an account that lasts for all the scenario does.
rwlock& unbiased_lock(scenario& s, const char* name = "lock");
rwlock& biased_lock(scenario& s, const char* name = "lock");

// What a thread does before the others start, where the scenario is not about that.
void be_online();       // registered, and able to lock passively
void be_known();        // registered
void be_dormant();      // registered, in the index, not able to lock passively
void be_long_idle();    // dormant, and one more round takes it out of the index
void seem_long_idle();  // one more round does, if it finds the thread dormant

// Reads and writes of what a lock protects: two of them at once, one a write, are found.
class guarded {
 public:
  void read() const { (void)data_.get(); }
  void write() { ++data_; }

 private:
  variable<std::uint32_t> data_{0};
};

// A section of a reader, or of a writer, under `lock`; those that try need not get it.
void read_under(rwlock& lock, const guarded& data, rules how = {});
void write_under(rwlock& lock, guarded& data, rules how = {});
bool try_read_under(rwlock& lock, const guarded& data, rules how = {});
bool try_read_passively(rwlock& lock, const guarded& data);
bool try_write_under(rwlock& lock, guarded& data, rules how = {});

// The second half of a section that began in `before`.
void finish_reading(rwlock& lock, const guarded& data);
void finish_writing(rwlock& lock, guarded& data, rules how = {});

// What a writer does that revokes the bias of some other lock.
void run_round();

// A biased lock whose holds go into the same slot of a reader as those of `other`.
rwlock& biased_lock_in_slot_of(scenario& s, const rwlock& other, const char* name);

// When all threads are over nobody may be inside or counted as waiting, and no record may be left
// to a thread that is no more. Call it in `finally`, after what the scenario itself has to say.
void expect_all_given_back(const rwlock& lock);

}  // namespace readmost::model
