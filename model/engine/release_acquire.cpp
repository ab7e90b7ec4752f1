// SPDX-License-Identifier: Apache-2.0
// C++20 without load buffering (RC11: program order and reads-from form no cycle), by views: a
// thread may read any store of a location that is not older than one it knows of, and a store takes
// any place in the modification order after those. Follows the
// promising semantics without promises (Kang, Hur, Lahav, Vafeiadis, Dreyer, POPL 2017); a
// seq_cst operation, unlike a seq_cst fence, is ordered with those of its own location and with
// fences only, as in C++20.
#include <algorithm>

#include "engine/synchronization.hpp"

namespace readmost::model {

namespace {

constexpr position spacing = position{1} << 32;

class release_acquire_memory final : public memory {
 public:
  void start(execution& run) override {
    views_ = &run.all_views();
    sync_.start(*views_);
    ordered_ = views_->empty();
  }

  std::uint32_t read_from() const override { return read_from_; }
  position read_place() const override { return read_place_; }
  bool has_changed(const simulated_thread& who, const look& at) const override {
    for (const message& each : at.where->history) {
      if (each.place > at.place && each.thread != who.number) return true;
    }
    return false;
  }

  void perform(execution& run, simulated_thread& who, operation& what) override {
    read_from_ = 0;
    switch (what.what) {
      case kind::futex_wait:
        fence_positions(who);
        load(run, who, what);
        break;
      case kind::load:
        load(run, who, what);
        break;
      case kind::store:
        store(run, who, what);
        break;
      case kind::update:
      case kind::compare:
        update(run, who, what);
        break;
      case kind::fence:
        fence(who, what.order);
        break;
      case kind::interrupt:
        fence(run.thread(what.target), std::memory_order_seq_cst);
        break;
      case kind::futex_wake:
        fence_positions(who);
        break;
      case kind::yield:
        // A thread that waits for a store sees it in the end; turns before that change nothing.
        for (const auto& look : who.looks) know(who, *look.where, newest(*look.where));
        break;
      default:
        break;
    }
  }

  void footprint_of(const simulated_thread& who, const operation& what,
                    footprint& made) const override {
    memory::footprint_of(who, what, made);
    const bool takes_part =
        what.what != kind::awake && what.what != kind::yield && what.what != kind::start;
    made.seq_cst = takes_part && is_seq_cst(what.order);
    switch (what.what) {
      case kind::fence:
        made.fences = made.seq_cst;
        break;
      case kind::futex_wait:
      case kind::futex_wake:
        made.fences = true;
        break;
      case kind::interrupt:
        made.fences = true;
        made.interrupts = static_cast<std::int8_t>(what.target);
        break;
      case kind::yield:
        for (const auto& look : who.looks) made.looks |= bit_of(*look.where);
        break;
      default:
        break;
    }
  }

  relation relate(const footprint& first, const footprint& second) const override {
    if (first.thread == second.thread) return relation::independent;
    if (is_ordered(first, second)) return relation::dependent;
    const bool same = first.where != nullptr && first.where == second.where;
    if (!same || !first.writes || !second.reads) return relation::independent;
    // What a seq_cst load may read also depends on its place among others: even if it reads the
    // same store as before, the two may have to be swapped.
    return second.seq_cst ? relation::dependent : relation::fresh_only;
  }

  bool race(const footprint& first, const footprint& second) const override {
    if (first.thread == second.thread) return false;
    if (is_ordered(first, second)) return true;
    if (first.where == nullptr || first.where != second.where) return false;
    // An old store can be read later on, but one update keeps another from reading the same.
    return (first.reads && second.writes) ||
           (first.updates && second.updates && (first.writes || second.writes));
  }

  bool orders(const footprint& first, const footprint& second) const override {
    return first.thread != second.thread && is_ordered(first, second);
  }

  bool can_read_since(const simulated_thread& who, const operation& what,
                      std::uint32_t since) const override {
    const position oldest = oldest_readable(who, what);
    for (const message& each : what.where->history) {
      if (each.step >= since && is_readable(who, what, each, oldest)) return true;
    }
    return false;
  }

 private:
  static std::uint64_t bit_of(const location& where) noexcept {
    return std::uint64_t{1} << (where.index % 64);
  }

  // Whether `turn`, a turn of a loop, may find the store.
  static bool looks_at(const footprint& turn, const footprint& store) noexcept {
    return turn.looks != 0 && store.writes && (turn.looks & bit_of(*store.where)) != 0;
  }

  static bool is_ordered(const footprint& first, const footprint& second) noexcept {
    if (first.interrupts == second.thread || second.interrupts == first.thread) return true;
    if (first.queue != nullptr && first.queue == second.queue) return true;
    if (looks_at(first, second) || looks_at(second, first)) return true;
    if ((first.fences && (second.fences || second.seq_cst)) || (first.seq_cst && second.fences)) {
      return true;
    }
    if (first.where == nullptr || first.where != second.where) return false;
    return first.retires || second.retires || (first.seq_cst && second.seq_cst);
  }

  static position newest(const location& where) noexcept {
    position found = 0;
    for (const message& each : where.history) found = std::max(found, each.place);
    return found;
  }

  static void know(simulated_thread& who, const location& where, position place) noexcept {
    position& known = who.now->positions()[where.index];
    known = std::max(known, place);
  }

  // No seq_cst operation or fence that follows may know less.
  void order(const location& where, position place) noexcept {
    position& known = ordered_->positions()[where.index];
    known = std::max(known, place);
  }

  position oldest_readable(const simulated_thread& who, const operation& what) const noexcept {
    const location& where = *what.where;
    const position known = who.now->positions()[where.index];
    if (what.what != kind::futex_wait && !is_seq_cst(what.order)) return known;
    return std::max(known, ordered_->positions()[where.index]);
  }

  // `oldest` is that for the order of success, if a compare-and-swap has two orders.
  bool is_readable(const simulated_thread& who, const operation& what, const message& each,
                   position oldest) const noexcept {
    const bool fails = what.what == kind::compare && each.value != what.expected;
    if (fails && !is_seq_cst(what.failure)) oldest = who.now->positions()[what.where->index];
    if (each.place < oldest) return false;
    if (!each.updated) return true;
    return what.what != kind::update && (what.what != kind::compare || each.value != what.expected);
  }

  // Chooses one of the stores that may be read; outcomes count from the newest.
  message& choose(execution& run, const simulated_thread& who, const operation& what) {
    const position oldest = oldest_readable(who, what);
    auto& history = what.where->history;
    candidates_.clear();
    for (std::uint32_t i = 0; i < history.size(); ++i) {
      if (is_readable(who, what, history[i], oldest)) candidates_.push_back(i);
    }
    std::sort(candidates_.begin(), candidates_.end(), [&](std::uint32_t a, std::uint32_t b) {
      return history[a].place > history[b].place;
    });
    // The search has tried the others in another execution.
    fresh_.clear();
    for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
      if (history[candidates_[i]].step >= run.fresh_since()) fresh_.push_back(i);
    }
    if (fresh_.size() == 1 && candidates_.size() == 1) return history[candidates_.front()];
    const std::uint32_t picked =
        fresh_.size() == 1 ? 0 : run.pick(static_cast<std::uint32_t>(fresh_.size()));
    run.note_outcome(fresh_[picked]);
    return history[candidates_[fresh_[picked]]];
  }

  void read(simulated_thread& who, const location& where, const message& from,
            std::memory_order by) {
    read_from_ = from.step;
    read_place_ = from.place;
    know(who, where, from.place);
    if (is_seq_cst(by)) order(where, from.place);
    sync_.acquire(who, from, by);
  }

  void load(execution& run, simulated_thread& who, operation& what) {
    const message& from = choose(run, who, what);
    what.result = from.value;
    read(who, *what.where, from, what.order);
  }

  // The place between `before` and what follows it in the modification order.
  static position place_after(const location& where, position before) noexcept {
    position next = before + 2 * spacing;
    for (const message& each : where.history) {
      if (each.place > before) next = std::min(next, each.place);
    }
    return before + (next - before) / 2;
  }

  void put(execution& run, simulated_thread& who, const operation& what, position place,
           std::uint64_t value, const message* continued) {
    location& where = *what.where;
    const bool is_newest = place > newest(where);
    know(who, where, place);
    if (is_seq_cst(what.order)) order(where, place);
    const view* published = sync_.publish(who, what.order, continued);
    where.history.push_back(
        {value, place, published, run.step(), static_cast<std::uint8_t>(who.number)});
    if (is_newest) where.value = value;
    ++where.changes;
  }

  void store(execution& run, simulated_thread& who, const operation& what) {
    location& where = *what.where;
    const position oldest = oldest_readable(who, what);
    places_.clear();
    for (const message& each : where.history) {
      if (each.place >= oldest && !each.updated) places_.push_back(each.place);
    }
    std::sort(places_.begin(), places_.end(), std::greater<>());
    const std::uint32_t picked =
        places_.size() == 1 ? 0 : run.pick(static_cast<std::uint32_t>(places_.size()));
    put(run, who, what, place_after(where, places_[picked]), what.operand & mask_of(where.size),
        nullptr);
  }

  void update(execution& run, simulated_thread& who, operation& what) {
    location& where = *what.where;
    message& from = choose(run, who, what);
    what.result = from.value;
    if (what.what == kind::compare) {
      what.success = from.value == what.expected;
      if (!what.success) {
        read(who, where, from, what.failure);
        return;
      }
    }
    read(who, where, from, what.order);
    from.updated = true;
    const message continued = from;  // the history may move
    put(run, who, what, place_after(where, continued.place),
        combine(what.how, continued.value, what.operand, where.size), &continued);
  }

  void fence_positions(simulated_thread& who) {
    views_->join_positions(*who.now, *ordered_);
    views_->join_positions(*ordered_, *who.now);
  }

  void fence(simulated_thread& who, std::memory_order order) {
    if (is_acquire(order) && who.pending_acquire != nullptr) {
      views_->join(*who.now, *who.pending_acquire);
    }
    if (is_seq_cst(order)) fence_positions(who);
    sync_.fence(who, order);
  }

  views* views_ = nullptr;
  synchronization sync_;
  view* ordered_ = nullptr;  // what seq_cst operations and fences have known
  std::uint32_t read_from_ = 0;
  position read_place_ = 0;
  std::vector<std::uint32_t> candidates_;
  std::vector<std::uint32_t> fresh_;
  std::vector<position> places_;
};

}  // namespace

std::unique_ptr<memory> make_release_acquire() {
  return std::make_unique<release_acquire_memory>();
}

}  // namespace readmost::model
