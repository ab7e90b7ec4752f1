// Situations in which scenarios begin, so that little but what they are about is left to explore.
#pragma once

#include "scenarios/lock_under_test.hpp"

namespace readmost::model {

inline constexpr rules writers_first{};
inline constexpr rules readers_first{.prefers = preference::reader};
inline constexpr rules in_turns{.prefers = preference::phase_fair};

// --- For the lock, in the scenario's body

// Nobody gives the lock its bias, and no account of it has to be looked at.
rwlock& without_bias_to_come(rwlock& lock);

// Such locks, for which nobody spins: one that is biased never, and one that is until a writer
// comes.
rwlock& ordinary_lock(scenario& s);
rwlock& once_biased_lock(scenario& s);

// --- For `before` functions, and for the body, whose thread is then inside all the while

void hold_passively(rwlock& lock);      // online
void hold_while_dormant(rwlock& lock);  // passively, but offline: a writer needs no consensus
void hold_actively(rwlock& lock);       // the lock is not biased
void hold_alone(rwlock& lock);

// As a writer leaves it that has met those who are inside.
void make_draining(rwlock& lock);
// Passively, though the lock is ordinary or drains already, as one of those whom a writer has met.
void hold_while_draining(rwlock& lock);

// For the body: what it holds shared is released when all threads are over.
void release_at_the_end(scenario& s, rwlock& lock);

// Waits until somebody has done a thing, looking again and again.
class signal {
 public:
  void give() { given_.store(1, platform::release); }
  bool given() const { return given_.load(platform::acquire) != 0; }
  void await() const;

 private:
  platform::atomic<std::uint32_t> given_{0};
};

}  // namespace readmost::model
