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

std::vector<contender> make_all() {
  std::vector<contender> all;
  for_each_lock<glibc_like_rwlock, glibc_like_mutex>(
      [&]<class Lock, auto... Arguments>(const char* name) {
        all.push_back({name, make<Lock, Arguments...>});
      });
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
