// SPDX-License-Identifier: Apache-2.0
// A biased lock's fast path as in BRAVO (Dice, Kogan, USENIX ATC 2019), with the reader's slot
// published by a plain store. BRAVO has a compare-and-swap there, which acts as the fence.
#include "catalogue.hpp"
#include "scenarios/classic/fences.hpp"

namespace readmost::model {

namespace {

void revoke_bias(scenario& s, bool with_fence) {
  auto& bias = s.make<platform::atomic<bool>>("bias", true);
  auto& slot = s.make<platform::atomic<bool>>("slot");
  auto& data = s.make<platform::variable<int>>("data");
  s.thread("reader", [&, with_fence] {
    if (!bias.load(platform::acquire)) return;
    slot.store(true, platform::release);
    if (with_fence) fence(platform::seq_cst);
    if (bias.load(platform::acquire)) (void)data.get();
    slot.store(false, platform::release);
  });
  s.thread("writer", [&] {
    bias.store(false, platform::release);
    fence(platform::seq_cst);
    while (slot.load(platform::acquire)) platform::yield();
    ++data;
  });
}

}  // namespace

BROKEN_SCENARIO(bravo_without_fence, "a reader that looks again before its slot is visible enters",
                effort::small, data_race, under_tso | under_release_acquire) {
  revoke_bias(s, false);
}

SCENARIO(bravo_with_fence, "a reader whose slot is visible before it looks again stays out",
         effort::small) {
  revoke_bias(s, true);
}

}  // namespace readmost::model
