// SPDX-License-Identifier: Apache-2.0
#include "random_program.hpp"

#include <fmt/format.h>

#include <array>
#include <random>
#include <readmost/detail/platform/platform.hpp>

#include "engine/report.hpp"

namespace readmost::model {

namespace {

using platform::atomic;

constexpr unsigned locations_at_most = 3;
constexpr unsigned instructions_at_most = 4;

using locations = std::array<atomic<std::uint32_t>, locations_at_most>;

constexpr std::memory_order for_load(std::memory_order order) {
  if (order == platform::release) return platform::relaxed;
  return order == platform::acq_rel ? platform::acquire : order;
}

constexpr std::memory_order for_store(std::memory_order order) {
  if (order == platform::acquire) return platform::relaxed;
  return order == platform::acq_rel ? platform::release : order;
}

const char* name_of(instruction::kind what) {
  static constexpr const char* names[] = {"load",       "store", "add",        "exchange",
                                          "compare",    "fence", "membarrier", "futex_wait",
                                          "futex_wake", "spin"};
  return names[static_cast<std::size_t>(what)];
}

// What the instruction returned, as one number.
std::int64_t carry_out(const instruction& each, locations& all) {
  constexpr std::int64_t changed = 100;
  constexpr std::int64_t timed_out = 200;
  atomic<std::uint32_t>& where = all[each.location];
  const auto here = std::source_location::current();
  using enum instruction::kind;
  switch (each.what) {
    case load:
      return where.load(for_load(each.order));
    case store:
      where.store(each.value, for_store(each.order));
      return 0;
    case add:
      return where.fetch_add(each.value, each.order);
    case exchange:
      return where.exchange(each.value, each.order);
    case compare: {
      std::uint32_t expected = each.value - 1;
      const auto failure = for_load(each.order);
      return where.compare_exchange_strong(expected, each.value, each.order, failure) ? changed
                                                                                      : expected;
    }
    case fence:
      execution::current()->fence(each.order, here);
      return 0;
    case membarrier:
      execution::current()->membarrier(here);
      return 0;
    case futex_wait:
      return execution::current()->futex_wait(&where, each.value - 1, each.mask, each.timed,
                                              here) == sleep_end::timed_out
                 ? timed_out
                 : 0;
    case futex_wake:
      return execution::current()->futex_wake(&where, static_cast<int>(each.value), each.mask,
                                              here);
    case spin: {
      std::int64_t seen = 0;
      for (int turn = 0; turn < 2; ++turn) {
        const std::uint32_t value = where.load(for_load(each.order));
        seen = seen * 10 + value;
        if (value != each.value - 1) break;
        platform::yield();
      }
      return seen;
    }
  }
  return 0;
}

}  // namespace

random_program::random_program(std::uint32_t seed) {
  std::mt19937 lots(seed);
  const auto draw = [&](unsigned below) { return static_cast<unsigned>(lots() % below); };
  const unsigned thread_count = 2 + draw(2);
  const unsigned longest = thread_count == 2 ? instructions_at_most : 2 + draw(2);
  const unsigned location_count = 1 + draw(locations_at_most);
  // Most programs neither sleep nor spin: those that do often end in a violation.
  const bool sleeps = draw(3) == 0;
  const bool spins = draw(4) == 0;
  constexpr std::array orders{platform::relaxed, platform::acquire, platform::release,
                              platform::acq_rel, platform::seq_cst};
  using enum instruction::kind;
  std::vector<instruction::kind> kinds{load,  load, load,     load,    store, store,     store,
                                       store, add,  exchange, compare, fence, membarrier};
  if (sleeps)
    kinds.insert(kinds.end(),
                 {futex_wait, futex_wait, futex_wait, futex_wake, futex_wake, futex_wake});
  if (spins) kinds.insert(kinds.end(), {spin, spin});
  for (unsigned i = 0; i < thread_count; ++i) {
    auto& thread = threads_.emplace_back();
    for (unsigned left = 1 + draw(longest); left != 0; --left) {
      instruction made{};
      made.what = kinds[draw(static_cast<unsigned>(kinds.size()))];
      made.location = draw(location_count);
      made.value = 1 + draw(2);
      made.order = orders[draw(orders.size())];
      // A C++ fence that is relaxed is none.
      if (made.what == fence && made.order == platform::relaxed) made.order = platform::seq_cst;
      made.mask = 1 + draw(3);
      made.timed = draw(2) == 0;
      thread.push_back(made);
    }
  }
  timeouts_ = draw(3);
}

void random_program::operator()(scenario& s) const {
  s.timeouts(timeouts_);
  auto& all = s.make<locations>("x");
  auto& returned = s.make<std::array<std::int64_t, max_threads * instructions_at_most>>("returned");
  returned.fill(-1);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    s.thread("thread", [this, i, &all, &returned] {
      for (std::size_t j = 0; j < threads_[i].size(); ++j) {
        returned[i * instructions_at_most + j] = carry_out(threads_[i][j], all);
      }
    });
  }
  s.finally([&] {
    std::vector<std::int64_t> values(
        returned.begin(),
        returned.begin() + static_cast<std::ptrdiff_t>(threads_.size() * instructions_at_most));
    for (auto& each : all) values.push_back(each.load());
    execution::current()->observe(values);
  });
}

std::string random_program::text() const {
  std::string text = fmt::format("timeouts {}\n", timeouts_);
  for (const auto& thread : threads_) {
    for (const auto& each : thread) {
      text += fmt::format("  {} x{} {} {}", name_of(each.what), each.location, each.value,
                          model::name_of(each.order));
      if (each.what == instruction::kind::futex_wait ||
          each.what == instruction::kind::futex_wake) {
        text += fmt::format(" mask {}{}", each.mask, each.timed ? " timed" : "");
      }
      text += ';';
    }
    text += '\n';
  }
  return text;
}

}  // namespace readmost::model
