// SPDX-License-Identifier: Apache-2.0
// Substitute Copy For Original (RCU 4.2.2): a routing table in which every route has a first and a
// second hop, which never are the same. A fail-over swaps them in many routes at once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <readmost/rcu_pointer.hpp>
#include <shared_mutex>
#include <utility>

#include "form.hpp"

namespace examples::routes {

struct route {
  std::uint32_t first = 1;
  std::uint32_t second = 2;
};

class table {
 public:
  static constexpr std::uint32_t size = 64;

  void look_up(std::uint32_t prefix) const {
    require(routes_[prefix].first != routes_[prefix].second, "a reader saw half a fail-over");
    require(routes_[prefix].first == routes_[prefix ^ 1].first,
            "a reader saw routes before and after a fail-over");
  }

  void fail_over() {
    for (route& each : routes_) std::swap(each.first, each.second);
  }

  void check(std::uint64_t fail_overs) const {
    require(routes_[0].first == 1 + fail_overs % 2, "a fail-over is lost");
  }

 private:
  std::array<route, size> routes_{};
};

class before {
 public:
  void read(xorshift& random) {
    const std::shared_lock guard{mutex_};
    table_.look_up(any_of(table::size, random));
  }

  void write(xorshift&) {
    const std::unique_lock guard{mutex_};
    table_.fail_over();
  }

  void check(std::uint64_t, std::uint64_t writes) { table_.check(writes); }

 private:
  std::shared_mutex mutex_;
  table table_;
};

class after {
 public:
  void read(xorshift& random) {
    const readmost::rcu_reader section;
    table_.load()->look_up(any_of(table::size, random));
  }

  void write(xorshift&) {
    const std::lock_guard guard{writers_};
    std::unique_ptr<version> copy;
    {
      const readmost::rcu_reader section;
      copy = std::make_unique<version>(*table_.load());
    }
    copy->fail_over();
    table_.assign(std::move(copy));
  }

  void check(std::uint64_t, std::uint64_t writes) {
    const readmost::rcu_reader section;
    table_.load()->check(writes);
  }

 private:
  struct version : table, readmost::rcu_obj_base<version> {};

  std::mutex writers_;
  readmost::rcu_pointer<const version> table_{std::make_unique<version>()};
};

}  // namespace examples::routes
