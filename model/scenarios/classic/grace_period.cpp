// SPDX-License-Identifier: Apache-2.0
// Grace periods by the parity of a phase, as in user-space RCU (Desnoyers, McKenney, Stern,
// Dagenais, Walpole, IEEE TPDS 2012). A reader copies the parity; a writer changes it and waits for
// the readers with the old one. A reader may publish its copy so late that the parity is the same
// again by then, so each grace period changes it twice.
#include <array>

#include "catalogue.hpp"
#include "scenarios/classic/fences.hpp"

namespace readmost::model {

namespace {

constexpr unsigned inside = 2;

struct element {
  platform::atomic<int> value{1};
};

void replace_twice(scenario& s, int phases) {
  auto& parity = s.make<platform::atomic<unsigned>>("parity");
  auto& reader = s.make<platform::atomic<unsigned>>("reader");
  auto& newest = s.make<platform::atomic<unsigned>>("newest");
  auto& elements = s.make<std::array<element, 3>>("elements");
  s.thread("reader", [&] {
    reader.store(inside | parity.load(platform::relaxed), platform::relaxed);
    fence(platform::seq_cst);
    elements[newest.load(platform::acquire)].value.load(platform::relaxed);
    reader.store(0, platform::release);
  });
  s.thread("writer", [&, phases] {
    for (unsigned next = 1; next < 3; ++next) {
      newest.store(next, platform::release);
      fence(platform::seq_cst);
      for (int i = 0; i < phases; ++i) {
        const unsigned old = parity.load(platform::relaxed);
        parity.store(old ^ 1U, platform::relaxed);
        fence(platform::seq_cst);
        while (reader.load(platform::acquire) == (inside | old)) platform::yield();
      }
      fence(platform::seq_cst);
      destroy(elements[next - 1]);
    }
  });
}

}  // namespace

BROKEN_SCENARIO(grace_period_of_one_phase, "a parity copied before one grace period outlasts two",
                effort::small, use_after_free, under_all) {
  replace_twice(s, 1);
}

SCENARIO(grace_period_of_two_phases, "two phases wait for a reader whichever parity it copied",
         effort::small) {
  replace_twice(s, 2);
}

}  // namespace readmost::model
