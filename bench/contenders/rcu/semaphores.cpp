// Semaphores under our RCU and under locks.
#include "contenders/rcu/semaphores.hpp"

#include <readmost/rcu.hpp>
#include <readmost/shared_mutex.hpp>
#include <shared_mutex>

#include "contenders/rcu/reader_writer_locks.hpp"
#include "contenders/rcu/semaphore_set_of.hpp"

namespace bench {

namespace {

struct our_rcu {
  template <class T>
  using element_base = readmost::rcu_obj_base<T>;
  using section = readmost::rcu_reader;
  struct thread {};
  template <class T>
  static void retire(T* object) {
    object->retire();
  }
  static void settle() { readmost::rcu_barrier(); }
};

// A lock around the array. If not `each`, it guards the semaphores too, as in Linux 2.4 (Fig. 19).
template <class Lock, bool each>
class locked {
 public:
  static constexpr bool locks_each = each;

  template <class T>
  using element_base = no_element_base<T>;

  class user {
   public:
    explicit user(locked& of) : reading(of.lock_) {}
    reader_of<Lock> reading;
  };
  class section {
   public:
    explicit section(user& me) : lock_(me.reading) {}

   private:
    std::shared_lock<reader_of<Lock>> lock_;
  };
  class exclusive {
   public:
    explicit exclusive(locked& of) : guard_(of.lock_) {}

   private:
    std::lock_guard<Lock> guard_;
  };

  // No section that could have found it is open.
  template <class T>
  static void retire(T* object) {
    delete object;
  }
  static void settle() {}

 private:
  Lock lock_;
};

template <class Protection>
std::unique_ptr<semaphore_set> make() {
  return std::make_unique<semaphore_set_of<Protection>>();
}

}  // namespace

std::vector<semaphore_set_maker> all_semaphore_sets() {
  return {
      {"readmost::rcu", make<rcu_protection<our_rcu>>},
#if defined(BENCH_HAS_URCU)
      {"liburcu-memb", make_liburcu_semaphores},
#endif
      {"prwlock", make<locked<readmost::shared_mutex, true>>},
      {"brlock", make<locked<big_reader_lock<spinlock>, true>>},
      {"pthread", make<locked<pthread_lock, true>>},
      {"global-lock", make<locked<exclusive_spinlock, false>>},
  };
}

}  // namespace bench
