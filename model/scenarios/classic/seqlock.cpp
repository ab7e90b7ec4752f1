// SPDX-License-Identifier: Apache-2.0
// A sequence lock as in Boehm, Can seqlocks get along with programming language memory models,
// MSPC 2012: readers look at the number before and after the data.
#include "catalogue.hpp"
#include "scenarios/classic/fences.hpp"

namespace readmost::model {

namespace {

void read_twice(scenario& s, bool with_fence) {
  auto& number = s.make<platform::atomic<unsigned>>("number");
  auto& low = s.make<platform::atomic<int>>("low");
  auto& high = s.make<platform::atomic<int>>("high");
  s.thread("reader", [&, with_fence] {
    const unsigned before = number.load(platform::acquire);
    const int first = low.load(platform::relaxed);
    const int second = high.load(platform::relaxed);
    if (with_fence) fence(platform::acquire);
    if (before % 2 != 0 || number.load(platform::relaxed) != before) return;
    expect(first == second, "data read under one even number belongs together");
  });
  s.thread("writer", [&] {
    number.store(1, platform::relaxed);
    fence(platform::release);
    low.store(1, platform::relaxed);
    high.store(1, platform::relaxed);
    number.store(2, platform::release);
  });
}

}  // namespace

BROKEN_SCENARIO(seqlock_without_second_fence, "the number is read again before the data",
                effort::small, assertion, under_release_acquire) {
  read_twice(s, false);
}

SCENARIO(seqlock, "a reader with an acquire fence behind the data notices the writer",
         effort::small) {
  read_twice(s, true);
}

}  // namespace readmost::model
