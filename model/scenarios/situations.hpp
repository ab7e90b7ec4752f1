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

// --- For `before` functions, and for the body, whose thread is then inside all the while

void hold_passively(rwlock& lock);      // online
void hold_while_dormant(rwlock& lock);  // passively, but offline: a writer needs no consensus
void hold_actively(rwlock& lock);       // the lock is not biased
void hold_alone(rwlock& lock);

// As a writer leaves it that has met those who are inside.
void make_draining(rwlock& lock);

// Waits until somebody has done a thing, looking again and again.
class signal {
 public:
  void give() { given_.store(1, platform::release); }
  void await() const;

 private:
  platform::atomic<std::uint32_t> given_{0};
};

}  // namespace readmost::model
