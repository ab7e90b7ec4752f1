// SPDX-License-Identifier: Apache-2.0
// RCU Existence Locks (RCU 4.1.9): sessions are found by their number and count their requests; now
// and then one is closed and opened anew.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <readmost/rcu_existence.hpp>
#include <readmost/rcu_hash_map.hpp>
#include <unordered_map>

#include "form.hpp"
#include "twin_counter.hpp"

namespace examples::sessions {

inline constexpr std::uint32_t numbers = 64;

// The locks are outside of the sessions: a thread could not lock a session that another is about to
// delete. Each protects the sessions whose numbers end alike.
class before {
 public:
  before() {
    for (std::uint32_t number = 0; number < numbers; ++number) {
      part_of(number).sessions[number] = std::make_unique<twin_counter>();
    }
  }

  void read(xorshift& random) {
    const std::uint32_t number = any_of(numbers, random);
    part& here = part_of(number);
    const std::lock_guard guard{here.mutex};
    here.sessions.find(number)->second->increment();
  }

  void write(xorshift& random) {
    const std::uint32_t number = any_of(numbers, random);
    auto session = std::make_unique<twin_counter>();
    part& here = part_of(number);
    const std::lock_guard guard{here.mutex};
    here.sessions.find(number)->second.swap(session);
    here.closed += session->value();
  }

  void check(std::uint64_t reads, std::uint64_t) {
    for (const part& each : parts_) {
      reads -= each.closed;
      for (const auto& [number, session] : each.sessions) reads -= session->value();
    }
    require(reads == 0, "a request is lost");
  }

 private:
  struct alignas(64) part {
    std::mutex mutex;
    std::unordered_map<std::uint32_t, std::unique_ptr<twin_counter>> sessions;
    std::uint64_t closed = 0;
  };
  part& part_of(std::uint32_t number) { return parts_[number % parts_.size()]; }

  std::array<part, 16> parts_;
};

class after {
 public:
  after() {
    for (std::uint32_t number = 0; number < numbers; ++number) {
      sessions_.insert_or_assign(number, new session);
    }
  }
  ~after() {
    sessions_.for_each([](const auto& each) { delete each.second; });
  }

  void read(xorshift& random) { find(any_of(numbers, random))->requests.increment(); }

  void write(xorshift& random) {
    const std::uint32_t number = any_of(numbers, random);
    auto* const fresh = new session;
    auto old = find(number);
    sessions_.insert_or_assign(number, fresh);
    closed_.fetch_add(old->requests.value(), std::memory_order_relaxed);
    old.make_obsolete()->retire();
  }

  void check(std::uint64_t reads, std::uint64_t) {
    reads -= closed_.load();
    sessions_.for_each([&](const auto& each) { reads -= each.second->requests.value(); });
    require(reads == 0, "a request is lost");
  }

 private:
  struct alignas(64) session : readmost::rcu_existence_lock, readmost::rcu_obj_base<session> {
    twin_counter requests;
  };

  readmost::rcu_existing<session> find(std::uint32_t number) {
    return readmost::rcu_lock_existing([&] {
      const auto found = sessions_.find(number);
      return found == sessions_.end() ? nullptr : found->second;
    });
  }

  readmost::rcu_hash_map<std::uint32_t, session*> sessions_;
  std::atomic<std::uint64_t> closed_{0};
};

}  // namespace examples::sessions
