// SPDX-License-Identifier: Apache-2.0
// Small random programs of atomic operations, fences and futexes, to compare searches on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/scenario.hpp"

namespace readmost::model {

struct instruction {
  enum class kind : std::uint8_t {
    load,
    store,
    add,
    exchange,
    compare,
    fence,
    membarrier,
    futex_wait,
    futex_wake,
    spin,  // while the location has the value, at most two turns
  };
  kind what;
  unsigned location;
  std::uint32_t value;
  std::memory_order order;
  std::uint32_t mask;
  bool timed;
};

class random_program {
 public:
  explicit random_program(std::uint32_t seed);

  // Observes what each instruction returned, and the locations in the end.
  void operator()(scenario& s) const;

  std::string text() const;

 private:
  std::vector<std::vector<instruction>> threads_;
  unsigned timeouts_;
};

}  // namespace readmost::model
