// SPDX-License-Identifier: Apache-2.0
// Stall Updates (RCU 4.2.5): accounts between which money is moved without a pause, while others
// add up all of them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <readmost/rcu_version.hpp>

#include "form.hpp"

namespace examples::accounts {

// Whose readers fail so often before they hold updates off.
template <unsigned Patience>
class bank {
 public:
  void read(xorshift&) {
    const std::uint64_t sum = accounts_.read(
        [](const accounts& all) {
          std::uint64_t found = 0;
          for (const auto& each : all) found += each.load(std::memory_order_relaxed);
          return found;
        },
        Patience);
    require(sum == 0, "a reader saw half a transfer");
  }

  void write(xorshift& random) {
    const std::uint32_t from = any_of(busy, random);
    accounts_.update([from](accounts& all) {
      add(all[from], ~std::uint64_t{0});
      add(all[from + count / 2], 1);
    });
  }

  void check(std::uint64_t, std::uint64_t) {
    xorshift random{0};
    read(random);
  }

 private:
  static constexpr std::uint32_t count = 4096;
  static constexpr std::uint32_t busy = 16;  // at the beginning, and in the middle
  using accounts = std::array<std::atomic<std::uint64_t>, count>;

  // Not an atomic addition: there is one writer at a time.
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t amount) {
    to.store(to.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }

  readmost::rcu_versioned<accounts> accounts_;
};

using numbers = readmost::rcu_versioned<int>;
using before = bank<numbers::never_stall>;
using after = bank<numbers::usual_patience>;

}  // namespace examples::accounts
