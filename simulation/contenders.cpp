// SPDX-License-Identifier: Apache-2.0
#include "simulation/contenders.hpp"

#include "simulation/glibc_like_mutex.hpp"
#include "simulation/glibc_like_rwlock.hpp"
#include "simulation/instruction_counts.hpp"
#include "simulation/locks.hpp"
#include "simulation/machine.hpp"
#include "simulation/named.hpp"

namespace readmost::simulation {

namespace {

// While this exists, so many instructions belong to each access of the running thread.
class counting {
 public:
  explicit counting(double beside_access) : before_(thread().beside_access) {
    thread().beside_access = machine::current()->description().time_of(beside_access);
  }
  ~counting() { thread().beside_access = before_; }
  counting(const counting&) = delete;
  counting& operator=(const counting&) = delete;

 private:
  static simulated_thread& thread() { return machine::current()->self(); }

  const duration before_;
};

// How many belong to each access of a reader, and of a writer.
struct beside_access {
  double read = usual_beside_access;
  double write = usual_beside_access;
};

beside_access beside_access_of(const char* name) {
  const instruction_counts* const counts = find_instruction_counts(name);
  if (counts == nullptr) return {};
  return {counts->read.beside_access(), counts->write.beside_access()};
}

template <class Lock>
class lock_of final : public simulated_lock {
 public:
  template <class... Arguments>
  explicit lock_of(beside_access beside, Arguments... arguments)
      : beside_(beside), lock_(arguments...) {}

  void lock_shared() override {
    const counting now(beside_.read);
    lock_.lock_shared();
  }
  void unlock_shared() override {
    const counting now(beside_.read);
    lock_.unlock_shared();
  }
  void lock() override {
    const counting now(beside_.write);
    lock_.lock();
  }
  void unlock() override {
    const counting now(beside_.write);
    lock_.unlock();
  }

 private:
  const beside_access beside_;
  alignas(128) Lock lock_;  // its lines hold nothing else
};

template <class Lock, auto... Arguments>
contender named(const char* name) {
  return {name, [beside = beside_access_of(name)]() -> simulated_lock* {
            using made = lock_of<Lock>;
            void* const place = machine::current()->memory().take(sizeof(made), alignof(made));
            return new (place) made(beside, Arguments...);
          }};
}

// Listing 1 of the BRAVO paper, with one table for all locks; and with one for each (Fig. 1).
struct with_own_table : bravo_paper_policy {
  using table = private_table<>;
};

std::vector<contender> make_all() {
  std::vector<contender> all;
  for_each_lock<glibc_like_rwlock, glibc_like_mutex>(
      [&]<class Lock, auto... Arguments>(const char* name) {
        all.push_back(named<Lock, Arguments...>(name));
      });
  all.push_back(named<bravo<rivals::pf_q, bravo_paper_policy>>("bravo-ba-paper"));
  all.push_back(named<bravo<glibc_like_rwlock, bravo_paper_policy>>("bravo-glibc-paper"));
  all.push_back(named<bravo<rivals::pf_q, with_own_table>>("bravo-ba-own-table"));
  all.push_back(named<no_lock>("none"));
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
