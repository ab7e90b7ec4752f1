// SPDX-License-Identifier: Apache-2.0
// A process that forks again and again while another of its threads retires: whatever the library
// was moving, the child finds what waits.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "support/processes.hpp"

namespace test {

// Base: the class that makes objects retirable.
template <template <class, class> class Base>
class fork_stress {
 public:
  // reclaim_all(): calls the deleters of everything that was retired before.
  template <class ReclaimAll>
  static void run(int forks, ReclaimAll reclaim_all) {
    std::atomic<bool> stop{false};
    std::thread writer([&] {
      while (!stop) {
        for (pooled& object : pool) {
          if (object.is_retired.exchange(true)) continue;
          ++handed_in;
          object.retire();
        }
      }
    });
    for (int i = 0; i < forks && !testing::Test::HasFailure(); ++i) {
      const int before = handed_in;
      in_a_child([&] {
        reclaim_all();
        // The writer may be about to retire one, and a deleter may be running for another.
        EXPECT_GE(handed_back, before - 2);
        EXPECT_LE(handed_back, handed_in);
      });
    }
    stop = true;
    writer.join();
    reclaim_all();
    EXPECT_EQ(handed_in, handed_back);
  }

 private:
  struct pooled;
  struct hand_back {
    void operator()(pooled* object) const {
      ++handed_back;
      object->is_retired = false;
    }
  };
  struct pooled : Base<pooled, hand_back> {
    std::atomic<bool> is_retired{false};
  };

  // Private to each process, and never on the heap, which AddressSanitizer does not take through a
  // fork amid other threads' allocations.
  static inline std::atomic<int> handed_in{0};
  static inline std::atomic<int> handed_back{0};
  static pooled pool[32768];
};

template <template <class, class> class Base>
typename fork_stress<Base>::pooled fork_stress<Base>::pool[32768];

}  // namespace test
