// SPDX-License-Identifier: Apache-2.0
// The order or fence of the library that is weakened in this run, to see whether it is needed, and
// the letters (include/readmost/detail/platform/letters.hpp) that executions have reached.
#pragma once

#include <atomic>
#include <optional>
#include <readmost/detail/platform/letters.hpp>
#include <source_location>
#include <vector>

#include "engine/library.hpp"

namespace readmost::model {

struct weakening {
  letter which;
  std::memory_order order;  // replaces the letter's own; relaxed also removes a fence
};
void weaken(std::optional<weakening> what);
const std::optional<weakening>& weakened() noexcept;

// A letter in the source.
struct lettered_place {
  letter which;
  std::memory_order order;
  bool is_fence;
  std::source_location at;
};
// Those that executions have reached so far.
const std::vector<lettered_place>& letters_met();
void forget_letters_met();

// The order that an access with this letter has in this run.
std::memory_order order_now(letter which, std::memory_order order, bool is_fence,
                            std::source_location at);

}  // namespace readmost::model
