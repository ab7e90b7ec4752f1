// SPDX-License-Identifier: Apache-2.0
#include "engine/shrink.hpp"

#include <tuple>

namespace readmost::model {

namespace {

constexpr std::size_t attempts_at_most = 3000;
constexpr std::size_t steps_of_an_attempt = 100;  // a longer attempt counts as several

struct block {
  std::size_t begin;
  std::size_t end;
};

std::vector<block> blocks_of(const std::vector<choice>& schedule) {
  std::vector<block> blocks;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (i == 0 || schedule[i].who != schedule[i - 1].who) blocks.push_back({i, i});
    blocks.back().end = i + 1;
  }
  return blocks;
}

// How hard a schedule is to read: by its switches between threads, then by old values and other
// surprises, then by its length.
auto weight(const std::vector<choice>& schedule) {
  std::size_t surprises = 0;
  for (const choice& step : schedule) surprises += step.outcome != 0 ? 1 : 0;
  return std::tuple(blocks_of(schedule).size(), surprises, schedule.size());
}

class shrinker {
 public:
  shrinker(execution& run, const execution::body& scenario, const finding& found)
      : run_(run), scenario_(scenario), kind_(found.what.kind), best_(found.schedule) {}

  std::vector<choice> shrunk() {
    while (attempts_ < attempts_at_most && (joins_blocks() || reads_what_is_new())) {
    }
    return best_;
  }

 private:
  // Runs `candidate`, and keeps the resulting schedule if that is better.
  bool attempt(const std::vector<choice>& candidate) {
    attempts_ += 1 + candidate.size() / steps_of_an_attempt;
    if (run_schedule(run_, scenario_, candidate) != execution::ending::violated) return false;
    if (run_.found().kind != kind_ || weight(run_.schedule()) >= weight(best_)) return false;
    best_ = run_.schedule();
    return true;
  }

  // Removes a block of steps, or joins it with the next or last block of the same actor.
  bool joins_blocks() {
    const auto blocks = blocks_of(best_);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const auto begin = best_.begin() + static_cast<std::ptrdiff_t>(blocks[i].begin);
      const auto end = best_.begin() + static_cast<std::ptrdiff_t>(blocks[i].end);
      const std::vector<choice> moved(begin, end);
      std::vector<choice> rest(best_.begin(), begin);
      rest.insert(rest.end(), end, best_.end());
      std::vector<std::vector<choice>> candidates{rest};
      for (std::size_t j = i + 1; j < blocks.size(); ++j) {
        if (best_[blocks[j].begin].who != moved.front().who) continue;
        auto later = rest;
        const std::size_t to = blocks[j].begin - moved.size();
        later.insert(later.begin() + static_cast<std::ptrdiff_t>(to), moved.begin(), moved.end());
        candidates.push_back(std::move(later));
        break;
      }
      for (std::size_t j = i; j-- > 0;) {
        if (best_[blocks[j].begin].who != moved.front().who) continue;
        auto earlier = rest;
        earlier.insert(earlier.begin() + static_cast<std::ptrdiff_t>(blocks[j].end), moved.begin(),
                       moved.end());
        candidates.push_back(std::move(earlier));
        break;
      }
      for (const auto& candidate : candidates) {
        if (attempts_ >= attempts_at_most) return false;
        if (attempt(candidate)) return true;
      }
    }
    return false;
  }

  bool reads_what_is_new() {
    for (std::size_t i = 0; i < best_.size(); ++i) {
      if (best_[i].outcome == 0) continue;
      if (attempts_ >= attempts_at_most) return false;
      auto candidate = best_;
      candidate[i].outcome = 0;
      if (attempt(candidate)) return true;
    }
    return false;
  }

  execution& run_;
  const execution::body& scenario_;
  const violation_kind kind_;
  std::vector<choice> best_;
  std::size_t attempts_ = 0;
};

}  // namespace

execution::ending run_schedule(execution& run, const execution::body& scenario,
                               const std::vector<choice>& schedule, bool recorded) {
  for (;;) {
    const auto by = make_replay(schedule);
    const auto ending = run.run(scenario, *by, recorded);
    if (ending != execution::ending::surprised) return ending;
  }
}

std::vector<choice> shrink(execution& run, const execution::body& scenario, const finding& found) {
  return shrinker(run, scenario, found).shrunk();
}

}  // namespace readmost::model
