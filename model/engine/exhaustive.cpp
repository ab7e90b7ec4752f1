// SPDX-License-Identifier: Apache-2.0
// Dynamic partial-order reduction. A node is a state between two steps of the latest execution. The
// stack of nodes records what has been tried from each and what is left to try.
#include "engine/search.hpp"

namespace readmost::model {

namespace {

struct node {
  actor who = nobody;         // chosen in the present execution
  std::uint32_t outcome = 0;  // of the step
  std::uint32_t outcomes = 1;
  actors ready = 0;
  actors eligible = 0;            // ready, and not covered by other executions
  actors asleep = 0;              // covered by others, except for loads of newer stores
  actors done = 0;                // tried
  actors wanted = 0;              // to be tried
  std::uint32_t taken_since = 0;  // execution::fresh_since() of the step
  std::array<std::uint16_t, max_actors> since{};  // of each asleep
};

class exhaustive final : public search {
 public:
  void start(execution&) override { depth_ = 0; }

  actor choose(execution& run, actors ready, actor last, std::uint32_t& since) override {
    if (depth_ == nodes_.size()) {
      if (!add_node(run, ready, last)) return nobody;
    }
    const node& here = nodes_[depth_];
    since = here.taken_since;
    ++depth_;
    return here.who;
  }

  std::uint32_t pick(std::uint32_t outcomes) override {
    node& here = nodes_[depth_ - 1];
    here.outcomes = outcomes;
    return here.outcome;
  }

  void happened(execution& run) override {
    // All races up to the node that was changed for this execution are known.
    if (depth_ > known_) find_races(run);
  }

  bool next() override {
    while (!nodes_.empty()) {
      node& last = nodes_.back();
      if (++last.outcome < last.outcomes) break;
      last.done |= only(last.who);
      const actors left = last.wanted & last.eligible & ~last.done;
      if (left != 0) {
        last.asleep |= last.done;
        take(last, static_cast<actor>(__builtin_ctz(left)));
        break;
      }
      nodes_.pop_back();
    }
    known_ = nodes_.empty() ? 0 : nodes_.size() - 1;
    return !nodes_.empty();
  }

  void restart() override {
    nodes_.clear();
    depth_ = 0;
    known_ = 0;
  }

 private:
  static void take(node& here, actor who) noexcept {
    here.who = who;
    here.outcome = 0;
    here.outcomes = 1;
    here.taken_since = contains(here.asleep & ~here.done, who) ? here.since[who] : 0;
  }

  bool add_node(execution& run, actors ready, actor last) {
    node fresh;
    fresh.ready = ready;
    if (!nodes_.empty()) inherit_sleep(run, fresh);
    fresh.eligible = ready & ~fresh.asleep;
    for_each(ready & fresh.asleep, [&](actor who) {
      if (is_buffer(who)) return;
      const simulated_thread& t = run.thread(who);
      if (t.pending->where != nullptr && run.footprint_of(who).reads &&
          run.memory_in_use().can_read_since(t, *t.pending, fresh.since[who])) {
        fresh.eligible |= only(who);
      }
    });
    if (fresh.eligible == 0) return false;
    // Prefer sequentially consistent executions with few switches, which are easy to read.
    actor who = static_cast<actor>(__builtin_ctz(fresh.eligible));
    if (last != nobody) {
      const unsigned thread = thread_of(last);
      if (contains(fresh.eligible, buffer_of(thread))) {
        who = buffer_of(thread);
      } else if (contains(fresh.eligible, thread)) {
        who = thread;
      }
    }
    fresh.wanted = only(who);
    // No race of steps shows that a deadline may pass before the sleeper is woken, nor which of the
    // spinning threads goes first when no other step is possible.
    for_each(fresh.eligible, [&](actor each) {
      if (is_buffer(each)) return;
      const simulated_thread& t = run.thread(each);
      if ((t.pending->what == kind::awake && !t.woken) || run.is_idle()) fresh.wanted |= only(each);
    });
    take(fresh, who);
    nodes_.push_back(fresh);
    return true;
  }

  // An actor that was tried before the latest step need not be tried after it, unless the two
  // conflict.
  void inherit_sleep(execution& run, node& fresh) const {
    const node& before = nodes_.back();
    const auto index = static_cast<std::uint16_t>(nodes_.size());  // of the step just taken
    const footprint& happened = run.events().back().touched;
    for_each((before.asleep | before.done) & ~only(before.who), [&](actor who) {
      if (is_buffer(who)) {
        if (!run.memory_in_use().has_buffered(thread_of(who))) return;
      } else {
        const simulated_thread& t = run.thread(who);
        // A spinning thread may find something new, and a thread just woken may go on.
        if (t.pending == nullptr || t.pending->what == kind::yield) return;
        if (t.pending->what == kind::awake && t.woken && t.woken_by == index) return;
      }
      const footprint pending = run.footprint_of(who);
      const relation to = run.memory_in_use().relate(happened, pending);
      if (to == relation::dependent) return;
      fresh.asleep |= only(who);
      fresh.since[who] = contains(before.done, who) ? index : before.since[who];
    });
  }

  // Looks for earlier steps that could also have come after the latest one.
  void find_races(execution& run) {
    const auto& events = run.events();
    const event& latest = events.back();
    const auto& known = run.before_latest().known;
    candidates_.clear();
    run.for_each_candidate([&](std::uint32_t index) {
      const event& other = events[index];
      if (known[other.who] > index || !run.memory_in_use().race(other.touched, latest.touched)) {
        return;
      }
      candidates_.push_back(index);
    });
    for (const std::uint32_t first : candidates_) {
      bool direct = true;
      for (const std::uint32_t between : candidates_) {
        direct &= between == first || !events[between].knows(first, events[first].who) ||
                  !run.memory_in_use().orders(events[between].touched, latest.touched);
      }
      if (direct) reverse(run, first);
    }
  }

  // Wants one of the actors with which an execution can begin, after what came before `first`, in
  // which the latest step happens and `first` has not.
  void reverse(execution& run, std::uint32_t first) {
    const auto& events = run.events();
    node& before = nodes_[first];
    const actor reversed = events[first].who;
    std::array<std::uint32_t, max_actors>
        begins{};  // index plus 1, in what need not follow `first`
    actors initials = 0;
    const auto consider = [&](std::uint32_t index,
                              const std::array<std::uint16_t, max_actors>& known) {
      const actor who = events[index].who;
      if (begins[who] != 0) return;
      bool is_initial = true;
      for (actor other = 0; other < max_actors; ++other) {
        is_initial &= begins[other] == 0 || known[other] < begins[other];
      }
      begins[who] = index + 1;
      if (is_initial) initials |= only(who);
    };
    for (std::uint32_t index = first + 1; index + 1 < events.size(); ++index) {
      if (!events[index].knows(first, reversed)) consider(index, events[index].known);
    }
    consider(static_cast<std::uint32_t>(events.size() - 1), events.back().known);
    // Executions that begin with a sleeping actor are covered. But if another begins, the latest
    // step may read another store, or its compare-and-swap may succeed.
    const bool may_differ =
        run.model() == memory_model::release_acquire || events.back().touched.updates;
    const actors tried = may_differ ? before.wanted & before.eligible : before.wanted;
    if ((initials & tried) != 0) return;
    actors possible = initials & before.ready;
    if (may_differ && (possible & before.eligible) != 0) possible &= before.eligible;
    before.wanted |= possible != 0 ? possible & ~(possible - 1) : before.ready;
  }

  std::vector<node> nodes_;
  std::size_t depth_ = 0;
  std::size_t known_ = 0;
  std::vector<std::uint32_t> candidates_;
};

}  // namespace

std::unique_ptr<search> make_exhaustive() {
  return std::make_unique<exhaustive>();
}

}  // namespace readmost::model
