// SPDX-License-Identifier: Apache-2.0
// Mutual exclusion by two flags (Dekker): each thread raises its own and looks at the other.
#include "catalogue.hpp"
#include "scenarios/classic/fences.hpp"

namespace readmost::model {

namespace {

void enter_by_flags(scenario& s, bool with_fence) {
  auto& left = s.make<platform::atomic<bool>>("left flag");
  auto& right = s.make<platform::atomic<bool>>("right flag");
  auto& data = s.make<platform::variable<int>>("data");
  const auto enter = [&data, with_fence](auto& own, const auto& other) {
    own.store(true, platform::release);
    if (with_fence) fence(platform::seq_cst);
    if (other.load(platform::acquire)) return;
    ++data;
  };
  s.thread("left", [&, enter] { enter(left, right); });
  s.thread("right", [&, enter] { enter(right, left); });
}

}  // namespace

BROKEN_SCENARIO(dekker_without_fence, "a store may become visible after the load that follows it",
                effort::small, data_race, under_tso | under_release_acquire) {
  enter_by_flags(s, false);
}

SCENARIO(dekker_with_fence, "a full fence between store and load keeps one of two threads out",
         effort::small) {
  enter_by_flags(s, true);
}

}  // namespace readmost::model
