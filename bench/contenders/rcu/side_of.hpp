// SPDX-License-Identifier: Apache-2.0
// Implements the interfaces of sides.hpp for a class with inline functions.
#pragma once

#include <utility>

#include "contenders/rcu/sides.hpp"

namespace bench {

// Side::reader, made for each batch of reads, has look(cell) and hold(cell, inside). Calls
// Side::quiescent() after each batch.
template <class Side, class Interface = read_side>
class read_side_of : public Interface {
 public:
  std::string name() const override { return Side::name; }
  void begin_thread() override { Side::begin_thread(); }
  void end_thread() override { Side::end_thread(); }

  std::uint64_t read(const shared_cell& from, unsigned times) override {
    typename Side::reader me;
    return look(me, from, times);
  }
  void read_until(const std::atomic<bool>& stopped, const shared_cell& from,
                  std::atomic<std::uint64_t>& reads) override {
    typename Side::reader me;
    for (std::uint64_t done = 0; !stopped.load(std::memory_order_relaxed);) {
      const std::uint64_t sum = look(me, from, batch);
      asm volatile("" ::"r"(sum) : "memory");
      reads.store(done += batch, std::memory_order_relaxed);
    }
  }
  void hold(const shared_cell& from, const std::function<void()>& inside) override {
    typename Side::reader me;
    me.hold(from, inside);
    Side::quiescent();
  }

 private:
  static constexpr unsigned batch = 16;

  static std::uint64_t look(typename Side::reader& me, const shared_cell& from, unsigned times) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < times; ++i) sum += me.look(from);
    Side::quiescent();
    return sum;
  }
};

// For sides that do not register threads.
struct needs_no_threads {
  static void begin_thread() {}
  static void end_thread() {}
  static void quiescent() {}
};

// Reads in a section that lasts as long as a `Section` object.
template <class Section>
struct section_reader {
  std::uint64_t look(const shared_cell& from) {
    const Section inside;
    return from.current.load(std::memory_order_acquire)->value;
  }
  void hold(const shared_cell&, const std::function<void()>& use) {
    const Section inside;
    use();
  }
};

// Side has synchronize(), barrier(), pause(), resume(), and `object`, which has a member
// retired_load and retire().
template <class Side>
class rcu_flavor_of final : public read_side_of<Side, rcu_flavor> {
 public:
  data* replace(shared_cell& cell, data* fresh) override {
    data* const old = cell.current.exchange(fresh, std::memory_order_acq_rel);
    Side::synchronize();
    return old;
  }
  void quiescent() override { Side::quiescent(); }
  void pause() override { Side::pause(); }
  void resume() override { Side::resume(); }
  void synchronize() override { Side::synchronize(); }
  void retire(std::function<void()>* reclaimed) override {
    static_assert(sizeof(typename Side::object) == 64);
    auto* const one = new typename Side::object;
    one->load.reclaimed = reclaimed;
    one->retire();
  }
  void barrier() override { Side::barrier(); }
  void hurry() override {
    if constexpr (requires { Side::hurry(); }) Side::hurry();
  }
};

}  // namespace bench
