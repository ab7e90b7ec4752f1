// SPDX-License-Identifier: Apache-2.0
// The list of runnable scenarios: each with every lock that it fits.
#pragma once

#include <string_view>
#include <vector>

#include "session.hpp"

namespace torture {

struct scenario {
  std::string_view lock;
  std::string_view name;
  std::string_view description;
  unsigned threads;
  void (*run)(session&);
};

using catalogue = std::vector<scenario>;

void add_pthread_scenarios(catalogue& all);
void add_broken_lock_scenarios(catalogue& all);

// Adds scenarios from a source file that only some executables link: each such file defines a
// global object of this class.
class contribution {
 public:
  explicit contribution(void (*add)(catalogue&)) { all().push_back(add); }

  static std::vector<void (*)(catalogue&)>& all() {
    static std::vector<void (*)(catalogue&)> functions;
    return functions;
  }
};

}  // namespace torture
