// SPDX-License-Identifier: Apache-2.0
// x86-TSO (Owens, Sarkar, Sewell, 2009): each thread's stores wait in a buffer, oldest first, from
// which it alone can load. They reach memory one by one, at any time, and all of them before the
// thread's next fence, locked instruction or system call, and before a membarrier interrupts it.
#include "engine/sequential.hpp"

namespace readmost::model {

namespace {

class tso_memory final : public sequential_memory {
 public:
  void start(execution& run) override {
    sequential_memory::start(run);
    for (auto& buffer : buffers_) buffer.clear();
    sunk_.fill(false);
  }

  bool is_ready(const simulated_thread& who, const operation& what) const override {
    // A store that the compiler has delayed is not in the real buffer yet.
    if (what.what == kind::interrupt) {
      return buffers_[what.target].size() == (sunk_[what.target] ? 1U : 0U);
    }
    return !drains(what) || !has_buffered(who.number);
  }

  bool has_buffered(unsigned thread) const override { return !buffers_[thread].empty(); }

  bool can_drain(const simulated_thread& who) const override {
    const auto& buffer = buffers_[who.number];
    if (buffer.empty()) return false;
    const bool passed = who.pending != nullptr && who.pending->what == kind::load;
    return buffer.size() > 1 || !sunk_[who.number] || !passed;
  }

  void sink_last_store(unsigned thread) override { sunk_[thread] = has_buffered(thread); }

  bool drains(const operation& what) const override {
    switch (what.what) {
      case kind::update:
      case kind::compare:
      case kind::futex_wait:
      case kind::futex_wake:
        return true;
      case kind::store:
      case kind::fence:
        return is_seq_cst(what.order);
      default:
        return false;
    }
  }

  location* oldest_buffered(unsigned thread) const override {
    return buffers_[thread].empty() ? nullptr : buffers_[thread].front().where;
  }

  bool is_late(unsigned thread) const override {
    return buffers_[thread].size() == 1 && sunk_[thread];
  }

  void perform(execution& run, simulated_thread& who, operation& what) override {
    if (what.what != kind::load && what.what != kind::preempt) sunk_[who.number] = false;
    if (what.what == kind::store && !is_seq_cst(what.order)) {
      const message stored{what.operand & mask_of(what.where->size), 0,
                           sync_.publish(who, what.order, nullptr), run.step(),
                           static_cast<std::uint8_t>(who.number)};
      buffers_[who.number].push_back({what.where, stored});
      return;
    }
    if (what.what == kind::load) {
      const auto& buffer = buffers_[who.number];
      for (std::size_t i = buffer.size(); i-- > 0;) {
        if (buffer[i].where != what.where) continue;
        what.result = buffer[i].stored.value;
        return;
      }
    }
    sequential_memory::perform(run, who, what);
  }

  std::uint32_t drain(execution&, unsigned thread) override {
    auto& buffer = buffers_[thread];
    const entry oldest = buffer.front();
    buffer.erase(buffer.begin());
    if (buffer.empty()) sunk_[thread] = false;
    write(*oldest.where, oldest.stored);
    return oldest.stored.step;
  }

  void footprint_of(const simulated_thread& who, const operation& what,
                    footprint& made) const override {
    sequential_memory::footprint_of(who, what, made);
    if (what.what == kind::store && !is_seq_cst(what.order)) {
      made.where = nullptr;
      made.writes = false;
      made.fills_buffer = true;
    }
    if (what.what == kind::interrupt) made.interrupts = static_cast<std::int8_t>(what.target);
  }

  relation relate(const footprint& first, const footprint& second) const override {
    if (((second.fills_buffer || second.is_late) && first.interrupts == second.thread) ||
        ((first.fills_buffer || first.is_late) && second.interrupts == first.thread)) {
      return relation::dependent;
    }
    return sequential_memory::relate(first, second);
  }

  std::string buffered(const execution& run, unsigned thread) const override {
    std::string text;
    for (const auto& each : buffers_[thread]) {
      if (!text.empty()) text += ", ";
      const std::string name = run.describe(reinterpret_cast<const void*>(each.where->address));
      text += name + " = " + run.describe_value(name, each.stored.value);
    }
    return text;
  }

 private:
  struct entry {
    location* where;
    message stored;
  };

  std::array<std::vector<entry>, max_threads> buffers_;
  std::array<bool, max_threads> sunk_{};  // the compiler has delayed the newest entry
};

}  // namespace

std::unique_ptr<memory> make_tso() {
  return std::make_unique<tso_memory>();
}

}  // namespace readmost::model
