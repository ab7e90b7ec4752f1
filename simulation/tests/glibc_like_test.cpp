// SPDX-License-Identifier: Apache-2.0
// The locks of the shape of glibc's keep threads out and lose no sleeper.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "simulation/glibc_like_mutex.hpp"
#include "simulation/glibc_like_rwlock.hpp"
#include "simulation/machine.hpp"

namespace readmost::simulation {
namespace {

machine_description tiny() {
  std::ifstream in(TINY);
  std::stringstream text;
  text << in.rdbuf();
  return machine_from(text.str(), TINY);
}

// Threads write by turns of different lengths, and read between. A lost sleeper ends the run with
// an exception.
template <class Lock>
void expect_exclusion(unsigned threads) {
  constexpr unsigned each = 300;
  machine on(tiny(), 1);
  struct scene {
    alignas(128) Lock lock;
    alignas(128) unsigned written = 0;
    unsigned writers = 0;
    unsigned readers = 0;
    bool met = false;
  };
  auto& at = *new (on.memory().take(sizeof(scene), alignof(scene))) scene();
  for (unsigned i = 0; i < threads; ++i) {
    on.add_thread("thread", [&] {
      for (unsigned n = 0; n < each; ++n) {
        at.lock.lock();
        at.met |= ++at.writers != 1 || at.readers != 0;
        const unsigned before = at.written;
        if (n % 50 == 0) on.sleep_until(on.now() + 3'000'000);
        on.work(on.random() % 2 * 2'000'000);
        at.written = before + 1;
        --at.writers;
        at.lock.unlock();
        at.lock.lock_shared();
        ++at.readers;
        on.work(on.random() % 3 * 700'000);
        at.met |= at.writers != 0;
        --at.readers;
        at.lock.unlock_shared();
      }
    });
  }
  on.run();
  EXPECT_EQ(at.written, threads * each);
  EXPECT_FALSE(at.met);
}

TEST(lock_of_glibcs_shape, keeps_writers_apart_and_wakes_whoever_sleeps) {
  for (const unsigned threads : {2U, 8U, 20U}) {
    expect_exclusion<glibc_like_rwlock>(threads);
    expect_exclusion<glibc_like_mutex>(threads);
  }
}

// A primary writer that loses its CPU before it has told others to sleep has them spin until it
// runs again: for a round of slices, in which each other thread of its CPU has one, and not for
// longer.
TEST(lock_of_glibcs_shape, stands_still_for_a_round_of_slices_at_most) {
  constexpr unsigned threads = 16;
  constexpr unsigned rounds = 25;
  machine_description description = tiny();
  description.time_slice = 20'000'000;
  const duration round = threads / description.cpus() * description.time_slice;
  machine on(description, 1);
  struct scene {
    alignas(128) glibc_like_rwlock lock;
    instant last = 0;
    duration longest = 0;
  };
  auto& at = *new (on.memory().take(sizeof(scene), alignof(scene))) scene();
  for (unsigned i = 0; i < threads; ++i) {
    on.add_thread("writer", [&] {
      while (on.now() < rounds * round) {
        at.lock.lock();
        at.longest = std::max(at.longest, on.now() - at.last);
        at.last = on.now();
        at.lock.unlock();
      }
    });
  }
  on.run();
  EXPECT_GT(at.longest, description.time_slice);  // so it did happen
  EXPECT_LT(at.longest, 2 * round);
}

}  // namespace
}  // namespace readmost::simulation
