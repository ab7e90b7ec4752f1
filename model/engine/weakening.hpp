// What of the library is taken away in this run, to see that it is needed, and which of its letters
// (include/readmost/detail/platform/letters.hpp) have been met.
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
  std::memory_order order;  // instead of its own; relaxed: nothing is left, of a fence too
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
// Those that executions have come by so far.
const std::vector<lettered_place>& letters_met();
void forget_letters_met();

// The order with which an access with that letter is to be made now.
std::memory_order order_now(letter which, std::memory_order order, bool is_fence,
                            std::source_location at);

}  // namespace readmost::model
