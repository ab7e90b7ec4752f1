// SPDX-License-Identifier: Apache-2.0
// Threads read through the project's library while this program reads and writes.
#include <atomic>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "table.hpp"

int main() {
  constexpr int reads = 300'000;
  constexpr int writes = 3'000;
  table shared;
  std::atomic<bool> agree{true};
  std::thread reader([&] {
    if (!reads_agree(shared, reads)) agree = false;
  });
  for (int i = 0; i < writes; ++i) {
    {
      std::unique_lock writing(shared.guard);
      ++shared.left;
      ++shared.right;
    }
    std::shared_lock reading(shared.guard);
    if (shared.left != shared.right) agree = false;
  }
  reader.join();
  if (!agree || shared.right != writes) {
    std::fprintf(stderr, "a reader met a half-done write, or one is lost\n");
    return 1;
  }
}
