// SPDX-License-Identifier: Apache-2.0
// Reader-writer locks around the cell.
#include <mutex>
#include <optional>
#include <readmost/shared_mutex.hpp>
#include <shared_mutex>

#include "contenders/rcu/big_reader_lock.hpp"
#include "contenders/rcu/side_of.hpp"
#include "contenders/rcu/sides.hpp"

namespace bench {

namespace {

// One lock for each Side.
template <class Side>
auto& lock_of() {
  alignas(64) static constinit typename Side::lock_type lock;
  return lock;
}

template <class Side>
class locked_side final : public read_side_of<Side, replacing_side> {
 public:
  data* replace(shared_cell& cell, data* fresh) override {
    const std::lock_guard guard(lock_of<Side>());
    return cell.current.exchange(fresh, std::memory_order_relaxed);
  }
};

template <class Side>
class shared_section {
 public:
  shared_section() : lock_(lock_of<Side>()) {}

 private:
  std::shared_lock<typename Side::lock_type> lock_;
};

struct ours : needs_no_threads {
  static constexpr const char* name = "readmost::shared_mutex";
  using lock_type = readmost::shared_mutex;
  using reader = section_reader<shared_section<ours>>;
};

struct of_std : needs_no_threads {
  static constexpr const char* name = "std::shared_mutex";
  using lock_type = std::shared_mutex;
  using reader = section_reader<shared_section<of_std>>;
};

// Looks up the reader's mutex once for each batch.
template <class Side, class Mutex>
struct brlock_side {
  using lock_type = big_reader_lock<Mutex>;

  static void begin_thread() { membership().emplace(lock_of<Side>()); }
  static void end_thread() { membership().reset(); }
  static void quiescent() {}

  class reader {
   public:
    std::uint64_t look(const shared_cell& from) {
      const std::lock_guard guard(mine_);
      return from.current.load(std::memory_order_acquire)->value;
    }
    void hold(const shared_cell&, const std::function<void()>& use) {
      const std::lock_guard guard(mine_);
      use();
    }

   private:
    Mutex& mine_ = membership()->mutex();
  };

 private:
  static std::optional<typename lock_type::membership>& membership() {
    static thread_local std::optional<typename lock_type::membership> one;
    return one;
  }
};

struct brlock_of_spinlocks : brlock_side<brlock_of_spinlocks, spinlock> {
  static constexpr const char* name = "brlock";
};

struct brlock_of_mutexes : brlock_side<brlock_of_mutexes, std::mutex> {
  static constexpr const char* name = "brlock-of-mutexes";
};

}  // namespace

std::unique_ptr<replacing_side> make_readmost_shared_mutex() {
  return std::make_unique<locked_side<ours>>();
}
std::unique_ptr<replacing_side> make_std_shared_mutex() {
  return std::make_unique<locked_side<of_std>>();
}
std::unique_ptr<replacing_side> make_brlock_of_spinlocks() {
  return std::make_unique<locked_side<brlock_of_spinlocks>>();
}
std::unique_ptr<replacing_side> make_brlock_of_mutexes() {
  return std::make_unique<locked_side<brlock_of_mutexes>>();
}

}  // namespace bench
