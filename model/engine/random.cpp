// SPDX-License-Identifier: Apache-2.0
// Random searches. Each execution has a seed of its own, so a search is the same each time. A
// single execution must be replayed by its schedule, since it also depends on the locations known
// to be shared.
#include <algorithm>

#include "engine/search.hpp"

namespace readmost::model {

namespace {

class drawing : public search {
 public:
  drawing(std::uint64_t seed, std::uint64_t runs) : seed_(seed), left_(runs) {}

  void start(execution&) override { lots_.seed(seed_); }
  std::uint32_t pick(std::uint32_t outcomes) override {
    // The newest store half of the time: a thread that always reads old values gets nowhere.
    return draw(2) == 0 ? 0 : draw(outcomes);
  }
  void happened(execution&) override {}
  bool next() override {
    ++seed_;
    return --left_ != 0;
  }
  void restart() override {}

 protected:
  std::uint32_t draw(std::uint32_t below) {
    return static_cast<std::uint32_t>((lots_() * std::uint64_t{below}) >> 32);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t left_;
  struct generator {
    void seed(std::uint64_t from) noexcept { state_ = from * 0x9E37'79B9'7F4A'7C15U + 1; }
    // SplitMix64, since it is fast to seed, unlike Mersenne Twister.
    std::uint64_t operator()() noexcept {
      std::uint64_t mixed = state_ += 0x9E37'79B9'7F4A'7C15U;
      mixed = (mixed ^ (mixed >> 30)) * 0xBF58'476D'1CE4'E5B9U;
      mixed = (mixed ^ (mixed >> 27)) * 0x94D0'49BB'1331'11EBU;
      return (mixed ^ (mixed >> 31)) >> 32;
    }
    std::uint64_t state_ = 0;
  } lots_;
};

class random_walk final : public drawing {
 public:
  using drawing::drawing;

  actor choose(execution&, actors ready, actor, std::uint32_t&) override {
    auto skip = draw(static_cast<std::uint32_t>(__builtin_popcount(ready)));
    for (; skip != 0; --skip) ready &= ready - 1;
    return static_cast<actor>(__builtin_ctz(ready));
  }
};

class priorities final : public drawing {
 public:
  priorities(std::uint64_t seed, std::uint64_t runs, unsigned depth)
      : drawing(seed, runs), depth_(depth) {}

  void start(execution& run) override {
    drawing::start(run);
    step_ = 0;
    for (auto& priority : priority_) priority = depth_ + draw(1U << 16);
    // The length of the execution is unknown, and must not depend on earlier executions.
    const std::uint32_t horizon = 16U << draw(5);
    changes_.clear();
    for (unsigned i = 1; i < depth_; ++i) changes_.push_back(draw(horizon));
  }

  actor choose(execution&, actors ready, actor, std::uint32_t&) override {
    actor best = nobody;
    for_each(ready, [&](actor who) {
      if (best == nobody || priority_[who] > priority_[best]) best = who;
    });
    for (std::uint32_t i = 0; i < changes_.size(); ++i) {
      if (changes_[i] == step_) priority_[best] = i;
    }
    ++step_;
    return best;
  }

 private:
  const unsigned depth_;
  std::uint32_t step_ = 0;
  std::array<std::uint32_t, max_actors> priority_{};
  std::vector<std::uint32_t> changes_;
};

}  // namespace

std::unique_ptr<search> make_random(std::uint64_t seed, std::uint64_t runs) {
  return std::make_unique<random_walk>(seed, runs);
}

std::unique_ptr<search> make_pct(std::uint64_t seed, std::uint64_t runs, unsigned depth) {
  return std::make_unique<priorities>(seed, runs, depth);
}

}  // namespace readmost::model
