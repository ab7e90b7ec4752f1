#pragma once

#include <string>
#include <vector>

#include "machine_costs.hpp"
#include "machine_facts.hpp"
#include "pthread_costs.hpp"

namespace readmost::command {

// All that was found out.
struct examination {
  machine_facts machine;
  machine_costs costs;
  pthread_costs glibc;      // without our library
  pthread_costs preloaded;  // with it; nothing when there is none
  std::string library;      // its path; empty when there is none
  std::string library_problem;
};

// One thing that it means.
struct finding {
  bool obstacle = false;  // Readmost is of no use here until this is put right
  std::string text;
};

// Obstacles first.
std::vector<finding> meaning_of(const examination& all);

// No obstacle among them.
bool is_useful(const std::vector<finding>& findings);

}  // namespace readmost::command
