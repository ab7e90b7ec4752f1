// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "doctor/pthread_costs.hpp"
#include "machine/facts.hpp"
#include "machine/synchronization_costs.hpp"
#include "process/scheduler_help.hpp"

namespace readmost::command {

// All facts and figures.
struct examination {
  machine_facts machine;
  synchronization_costs costs;
  pthread_costs glibc;      // without our library
  pthread_costs preloaded;  // with it, if there is one
  std::string library;      // its path; empty when there is none
  std::string library_problem;
  scheduler_answer scheduler_help;
};

// One conclusion.
struct finding {
  bool obstacle = false;  // Readmost is of no use here until this is removed
  std::string text;
};

// Obstacles first.
std::vector<finding> meaning_of(const examination& all);

// Whether there is no obstacle.
bool is_useful(const std::vector<finding>& findings);

std::string as_page(const examination& all);
std::string as_json(const examination& all);

}  // namespace readmost::command
