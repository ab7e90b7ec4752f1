// SPDX-License-Identifier: Apache-2.0
// Depth-first search without reduction, of all executions or of those with few surprises.
#include <limits>

#include "engine/search.hpp"

namespace readmost::model {

namespace {

class bounded final : public search {
 public:
  explicit bounded(unsigned surprises) : most_(surprises) {}

  void start(execution&) override {
    depth_ = 0;
    spent_ = 0;
    kept_ = 0;
  }

  actor choose(execution&, actors ready, actor last, std::uint32_t&) override {
    options_.clear();
    actor expected = nobody;
    bool free = true;  // no thread is interrupted, so no choice is a surprise
    kept_ &= ready;
    if (last != nobody) {
      const unsigned thread = thread_of(last);
      if (contains(ready & ~kept_, buffer_of(thread))) {
        expected = buffer_of(thread);
      } else if (contains(ready, thread)) {
        expected = thread;
      }
      free = expected == nobody;
    }
    if (expected != nobody) options_.push_back(expected);
    for_each(ready & ~(expected == nobody ? 0 : only(expected)),
             [&](actor who) { options_.push_back(who); });
    const actor who = options_[decide(static_cast<std::uint32_t>(options_.size()), free)];
    // A store that stays in its buffer is one surprise, however long it stays.
    if (expected != nobody && is_buffer(expected) && who != expected) kept_ |= only(expected);
    return who;
  }

  std::uint32_t pick(std::uint32_t outcomes) override { return decide(outcomes, false); }

  void happened(execution&) override {}

  bool next() override {
    while (!decisions_.empty() && ++decisions_.back().taken == decisions_.back().options) {
      decisions_.pop_back();
    }
    return !decisions_.empty();
  }

  void restart() override { decisions_.clear(); }

 private:
  struct decision {
    std::uint32_t taken;
    std::uint32_t options;
  };

  std::uint32_t decide(std::uint32_t options, bool free) {
    if (options == 1 || (!free && spent_ == most_)) return 0;
    if (depth_ == decisions_.size()) decisions_.push_back({0, options});
    const std::uint32_t taken = decisions_[depth_++].taken;
    if (!free && taken != 0) ++spent_;
    return taken;
  }

  const unsigned most_;
  unsigned spent_ = 0;
  actors kept_ = 0;  // buffers that have been kept from draining
  std::size_t depth_ = 0;
  std::vector<decision> decisions_;
  std::vector<actor> options_;
};

}  // namespace

std::unique_ptr<search> make_bounded(unsigned surprises) {
  return std::make_unique<bounded>(surprises);
}

std::unique_ptr<search> make_plain() {
  return std::make_unique<bounded>(std::numeric_limits<unsigned>::max());
}

}  // namespace readmost::model
