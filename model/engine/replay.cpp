// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/search.hpp"

namespace readmost::model {

namespace {

// Follows a schedule as far as possible: skips impossible steps, and continues after the last one
// without needless switches.
class replay final : public search {
 public:
  explicit replay(std::vector<choice> schedule) : schedule_(std::move(schedule)) {}

  void start(execution&) override {
    next_ = 0;
    outcome_ = 0;
  }

  actor choose(execution& run, actors ready, actor last, std::uint32_t&) override {
    outcome_ = 0;
    for (; next_ < schedule_.size(); ++next_) {
      const choice step = schedule_[next_];
      if (!contains(ready, step.who)) continue;
      if (is_buffer(step.who)) {
        ++next_;
        return step.who;
      }
      const std::uint32_t access = run.thread(step.who).pending->access;
      if (access > std::max(step.access, step.until)) continue;
      if (access == step.access) outcome_ = step.outcome;
      return step.who;
    }
    if (last != nobody) {
      const unsigned thread = thread_of(last);
      if (contains(ready, buffer_of(thread))) return buffer_of(thread);
      if (contains(ready, thread)) return thread;
    }
    return static_cast<actor>(__builtin_ctz(ready));
  }

  std::uint32_t pick(std::uint32_t outcomes) override {
    return outcome_ < outcomes ? outcome_ : outcomes - 1;
  }

  void happened(execution&) override {}
  bool next() override { return false; }
  void restart() override {}

 private:
  std::vector<choice> schedule_;
  std::size_t next_ = 0;
  std::uint32_t outcome_ = 0;
};

}  // namespace

std::unique_ptr<search> make_replay(std::vector<choice> schedule) {
  return std::make_unique<replay>(std::move(schedule));
}

}  // namespace readmost::model
