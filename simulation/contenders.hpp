// SPDX-License-Identifier: Apache-2.0
// The locks that can be simulated.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace readmost::simulation {

class simulated_lock {
 public:
  virtual ~simulated_lock() = default;
  virtual void lock_shared() = 0;
  virtual void unlock_shared() = 0;
  virtual void lock() = 0;
  virtual void unlock() = 0;
};

struct contender {
  std::string name;
  // In the simulated machine's memory.
  std::function<simulated_lock*()> make;
};

// Readmost's first.
const std::vector<contender>& all_contenders();

// Throws std::runtime_error with a sentence that has the names that there are.
const contender& find_contender(const std::string& name);

}  // namespace readmost::simulation
