// SPDX-License-Identifier: Apache-2.0
// Semaphores under our RCU and under locks.
#include "contenders/rcu/semaphores.hpp"

#include <array>
#include <mutex>
#include <readmost/id_table.hpp>
#include <readmost/rcu.hpp>
#include <readmost/shared_mutex.hpp>
#include <shared_mutex>
#include <stdexcept>

#include "contenders/locks/preferring.hpp"
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

// Our table by id. Its ids change where semaphores come and go, so a number stands for the id of
// the semaphore that has it.
class in_id_table final : public semaphore_set {
 public:
  semaphore_result use(const std::atomic<bool>& stopped, std::uint64_t seed, std::size_t numbers,
                       std::atomic<std::uint64_t>& operations) override {
    return use_semaphores(stopped, seed, numbers, operations, [this](std::size_t number) {
      const auto held = semaphores_.lock(ids_[number].load(std::memory_order_relaxed));
      if (held) ++held->value;
      return static_cast<bool>(held);
    });
  }

  std::size_t create() override {
    const readmost::object_id id = semaphores_.emplace();
    const std::lock_guard changing(changes_);
    std::size_t number = 0;
    while (number < ids_.size() && ids_[number].load(std::memory_order_relaxed) != 0) ++number;
    if (number == ids_.size()) throw std::runtime_error("too many semaphores");
    ids_[number].store(id, std::memory_order_relaxed);
    return number;
  }
  std::uint64_t remove(std::size_t number) override {
    auto held = semaphores_.lock(ids_[number].load(std::memory_order_relaxed));
    const std::uint64_t value = held->value;
    semaphores_.erase(std::move(held));
    const std::lock_guard changing(changes_);
    ids_[number].store(0, std::memory_order_relaxed);
    return value;
  }
  void trim() override { semaphores_.shrink_to_fit(); }
  std::size_t capacity() override { return semaphores_.capacity(); }
  void settle() override { readmost::rcu_barrier(); }

 private:
  struct semaphore {
    std::uint64_t value = 0;
  };

  readmost::id_table<semaphore, spinlock> semaphores_;
  std::array<std::atomic<readmost::object_id>, 1024> ids_{};
  std::mutex changes_;
};

std::unique_ptr<semaphore_set> make_in_id_table() {
  return std::make_unique<in_id_table>();
}

template <class Protection>
std::unique_ptr<semaphore_set> make() {
  return std::make_unique<semaphore_set_of<Protection>>();
}

}  // namespace

std::vector<semaphore_set_maker> all_semaphore_sets() {
  return {
      {"readmost::id_table", make_in_id_table},
      {"readmost::rcu", make<rcu_protection<our_rcu>>},
#if defined(BENCH_HAS_URCU)
      {"liburcu-memb", make_liburcu_semaphores},
#endif
      {"prwlock", make<locked<readmost::shared_mutex, true>>},
      {"brlock", make<locked<big_reader_lock<spinlock>, true>>},
      {"pthread", make<locked<pthread_lock, true>>},
      {"prwlock-reader", make<locked<preferring<readmost::preference::reader>, true>>},
      {"prwlock-phase-fair", make<locked<preferring<readmost::preference::phase_fair>, true>>},
      {"pthread-writer", make<locked<writer_preferring_pthread_lock, true>>},
      {"global-lock", make<locked<exclusive_spinlock, false>>},
  };
}

}  // namespace bench
