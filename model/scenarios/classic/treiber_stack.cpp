// SPDX-License-Identifier: Apache-2.0
// A stack whose top is changed by compare-and-swap (Treiber). A thread that pops has read the node
// after the top. That is out of date if others have popped both and pushed the first again.
#include <array>

#include "catalogue.hpp"
#include "scenarios/classic/fences.hpp"

namespace readmost::model {

namespace {

constexpr unsigned bottom = 0;

struct stack {
  // The node in the low bits; above it, optionally, a count of the changes of the top.
  platform::atomic<unsigned> top{1};
  std::array<platform::atomic<unsigned>, 3> next{bottom, 2U, bottom};
  unsigned change;

  explicit stack(bool counts) : change(counts ? 16 : 0) {}

  static unsigned node_of(unsigned seen) { return seen % 16; }

  unsigned pop() {
    unsigned seen = top.load(platform::acquire);
    while (node_of(seen) != bottom) {
      const unsigned after = next[node_of(seen)].load(platform::relaxed);
      if (top.compare_exchange_strong(seen, seen - node_of(seen) + after + change,
                                      platform::acq_rel, platform::acquire)) {
        return node_of(seen);
      }
    }
    return bottom;
  }

  void push(unsigned node) {
    unsigned seen = top.load(platform::relaxed);
    do {
      next[node].store(node_of(seen), platform::relaxed);
    } while (!top.compare_exchange_strong(seen, seen - node_of(seen) + node + change,
                                          platform::acq_rel, platform::relaxed));
  }
};

void pop_and_push_again(scenario& s, bool counts) {
  auto& nodes = s.make<stack>("stack", counts);
  auto& kept = s.make<unsigned>("kept", bottom);
  s.thread("first", [&] { nodes.pop(); });
  s.thread("second", [&] {
    const unsigned taken = nodes.pop();
    kept = nodes.pop();
    if (taken != bottom) nodes.push(taken);
  });
  s.finally([&] {
    expect(kept == bottom || stack::node_of(nodes.top.load()) != kept,
           "a node that a thread has popped is not in the stack");
  });
}

}  // namespace

BROKEN_SCENARIO(treiber_stack_with_aba, "a compare-and-swap takes a top that is back for unchanged",
                effort::small, assertion, under_all) {
  pop_and_push_again(s, false);
}

SCENARIO(treiber_stack_with_count, "a count beside the top tells that it has changed meanwhile",
         effort::small) {
  pop_and_push_again(s, true);
}

}  // namespace readmost::model
