// SPDX-License-Identifier: Apache-2.0
// Chooses the mutant that READMOST_MUTANT names, before the program starts. In an interposer, too:
// without libstdc++.
#include <stdio.h>
#include <unistd.h>

#include <cstring>
#include <readmost/detail/platform/mutant.hpp>
#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

namespace {

constexpr const char* names[] = {"none",
#define READMOST_MUTANT_NAME(name, what) #name,
                                 READMOST_MUTANTS(READMOST_MUTANT_NAME)
#undef READMOST_MUTANT_NAME
};

// These let a reader decide on what it saw before its hold was visible: too short to hit natively.
bool needs_wide_window(mutant chosen) noexcept {
  return chosen == mutant::no_membarrier || chosen == mutant::skip_consensus ||
         chosen == mutant::online_without_fence;
}

__attribute__((constructor(101))) void choose() noexcept {
  char name[64];
  if (!platform::environment("READMOST_MUTANT", name, sizeof name)) return;
  int number = 0;
  for (const char* each : names) {
    if (std::strcmp(each, name) == 0) {
      chosen_mutant = static_cast<mutant>(number);
      if (needs_wide_window(chosen_mutant)) widening_mutant = mutant::check_before_publish;
      return;
    }
    ++number;
  }
  dprintf(STDERR_FILENO, "READMOST_MUTANT: unknown mutant '%s'; choose one of", name);
  for (const char* each : names) dprintf(STDERR_FILENO, " %s", each);
  dprintf(STDERR_FILENO, "\n");
  _exit(2);
}

}  // namespace

}  // namespace readmost::detail
