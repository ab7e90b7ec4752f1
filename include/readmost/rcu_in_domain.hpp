// SPDX-License-Identifier: Apache-2.0
// Which domain the readers of a container are in: the last template argument of rcu_pointer,
// rcu_list, rcu_hlist, rcu_stack and rcu_versioned. The container remembers it, so that no call can
// name another one by mistake.
//
//   readmost::rcu_pointer<config> current;              // of the default domain; 8 bytes
//   readmost::separate_rcu_domain own;
//   readmost::domain_rcu_pointer<config> other(own);    // of a domain that is given; 16 bytes
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <readmost/rcu.hpp>

namespace readmost {

// The default domain, known by the type: takes no memory and no time.
struct rcu_in_default_domain {
  static rcu_domain& domain() noexcept { return rcu_default_domain(); }
};

// A domain that is given to the constructor and that must outlive the container.
class rcu_in_domain {
 public:
  rcu_in_domain(rcu_domain& dom) noexcept : domain_(&dom) {}
  rcu_domain& domain() const noexcept { return *domain_; }

 private:
  rcu_domain* domain_;
};

namespace detail {

// In programs built with READMOST_RCU_CHECK: reports a call outside of all read sections of `dom`.
inline void check_reader([[maybe_unused]] const rcu_domain& dom) noexcept {
#if defined(READMOST_RCU_CHECK)
  check_dereference(number_of(dom.core()));
#endif
}

// Whether T can be retired by itself, with its own deleter.
template <class T>
concept retirable = requires(T& object, rcu_domain& dom) { object.retire({}, dom); };

}  // namespace detail

}  // namespace readmost
