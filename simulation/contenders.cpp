// SPDX-License-Identifier: Apache-2.0
#include "simulation/contenders.hpp"

#include "simulation/glibc_like_mutex.hpp"
#include "simulation/glibc_like_rwlock.hpp"
#include "simulation/locks.hpp"
#include "simulation/machine.hpp"
#include "simulation/named.hpp"

namespace readmost::simulation {

namespace {

template <class Lock>
class lock_of final : public simulated_lock {
 public:
  template <class... Arguments>
  explicit lock_of(Arguments... arguments) : lock_(arguments...) {}

  void lock_shared() override { lock_.lock_shared(); }
  void unlock_shared() override { lock_.unlock_shared(); }
  void lock() override { lock_.lock(); }
  void unlock() override { lock_.unlock(); }

 private:
  alignas(128) Lock lock_;  // its lines hold nothing else
};

template <class Lock, auto... Arguments>
simulated_lock* make() {
  using made = lock_of<Lock>;
  void* const place = machine::current()->memory().take(sizeof(made), alignof(made));
  return new (place) made(Arguments...);
}

// For one thread alone.
class no_lock {
 public:
  void lock_shared() {}
  void unlock_shared() {}
  void lock() {}
  void unlock() {}
};

// Listing 1 of the BRAVO paper, with one table for all locks; and with one for each (Fig. 1).
struct with_own_table : bravo_paper_policy {
  using table = private_table<>;
};

std::vector<contender> make_all() {
  std::vector<contender> all;
  for_each_lock<glibc_like_rwlock, glibc_like_mutex>(
      [&]<class Lock, auto... Arguments>(const char* name) {
        all.push_back({name, make<Lock, Arguments...>});
      });
  all.push_back({"bravo-ba-paper", make<bravo<rivals::pf_q, bravo_paper_policy>>});
  all.push_back({"bravo-glibc-paper", make<bravo<glibc_like_rwlock, bravo_paper_policy>>});
  all.push_back({"bravo-ba-own-table", make<bravo<rivals::pf_q, with_own_table>>});
  all.push_back({"none", make<no_lock>});
  return all;
}

}  // namespace

const std::vector<contender>& all_contenders() {
  static const std::vector<contender> all = make_all();
  return all;
}

const contender& find_contender(const std::string& name) {
  return find_named(all_contenders(), name, "lock");
}

}  // namespace readmost::simulation
