// SPDX-License-Identifier: Apache-2.0
// What the scenarios of rcu_pointer, rcu_list and rcu_hash_map have in common.
#pragma once

#include <mutex>
#include <readmost/rcu.hpp>

#include "scenarios/rcu_under_test.hpp"

namespace readmost::model {

// As begin_rcu(), with reclamation by the threads that retire.
inline void begin_containers(scenario& s) {
  begin_rcu(s);
  reclaim_by(default_domain, reclaiming::in_place);
}

// Data of an element. The checker finds reads during its construction or after its destruction.
class content {
 public:
  explicit content(std::uint32_t value) : value_(value) {}
  content(const content& other) : value_(other.read()) {}
  content& operator=(const content&) = delete;
  ~content() { value_ = gone; }

  std::uint32_t read() const {
    const std::uint32_t found = value_.get();
    expect(found != gone, "an element is read after its end");
    return found;
  }

 private:
  static constexpr std::uint32_t gone = ~0U;
  variable<std::uint32_t> value_;
};

// Reclaims all objects retired before.
inline void reclaim_all_retired() {
  rcu_barrier();
}

}  // namespace readmost::model
