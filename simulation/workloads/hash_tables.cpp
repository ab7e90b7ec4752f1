// SPDX-License-Identifier: Apache-2.0
// A hash table that all threads search, under a lock and under RCU, as the RCU paper measures it
// (6.1, Figs. 2, 6 and 27): one time in --writes-in a thread replaces an element.
#include <readmost/detail/platform/platform.hpp>
#include <readmost/rcu_hash_map.hpp>
#include <vector>

#include "simulation/workloads/experiment.hpp"
#include "simulation/workloads/families.hpp"

namespace readmost::simulation {

namespace platform = detail::platform;

namespace {

constexpr std::uint64_t buckets = 32;
constexpr std::uint64_t keys = 2 * buckets;

struct element {
  platform::variable<std::uint64_t> key{};
  platform::variable<std::uint64_t> value{};
  platform::variable<element*> next{};
};

// For a lock around it. The elements have their own lines, as on a heap they may.
class chained_table {
 public:
  chained_table() : elements_(keys) {
    for (std::uint64_t key = 0; key < keys; ++key) {
      element& fresh = elements_[key].of;
      fresh.key = key;
      fresh.next = static_cast<element*>(heads_[key % buckets]);
      heads_[key % buckets] = &fresh;
    }
  }
  std::uint64_t find(std::uint64_t key) const { return at(key)->value; }
  void replace(std::uint64_t key) { ++at(key)->value; }

 private:
  struct alignas(64) own_line {
    element of;
  };

  element* at(std::uint64_t key) const {
    element* each = heads_[key % buckets];
    while (each->key != key) each = each->next;
    return each;
  }

  // On the same lines wherever the table lies: it is on the stack.
  alignas(64) platform::variable<element*> heads_[buckets];
  std::vector<own_line> elements_;
};

// A key is its hash.
struct as_it_is {
  using is_avalanching = void;
  std::size_t operator()(std::uint64_t key) const { return key; }
};

// Filled by the first thread that runs, for which the others wait; never ended.
class rcu_map_in_use {
 public:
  using map = rcu_hash_map<std::uint64_t, std::uint64_t, as_it_is>;

  map& get(experiment& run) {
    if (made_ == nullptr) make(run);
    return *made_;
  }

 private:
  void make(experiment& run) {
    if (!begun_) {
      begun_ = true;
      auto* const fresh = new map(buckets);
      for (std::uint64_t key = 0; key < keys; ++key) fresh->try_emplace(key, key);
      made_ = fresh;
    }
    while (made_ == nullptr) run.pause(cycles_inside);
  }

  map* made_ = nullptr;
  bool begun_ = false;
};

// Every thread repeats look_up(key), and one time in --writes-in replace(key).
template <class LookUp, class Replace>
void add_searchers(experiment& run, const workload_options& how, LookUp look_up, Replace replace) {
  for (unsigned i = 0; i < how.threads; ++i) {
    run.add_thread(numbered("thread", i), [&run, &how, look_up, replace] {
      const std::uint64_t key = run.on().random() % keys;
      if (run.on().random() % how.writes_in == 0) {
        replace(key);
      } else {
        look_up(key);
      }
      run.pause(cycles_inside);
    });
  }
}

}  // namespace

measurement hash_table(const machine_description& on, const contender& with,
                       const workload_options& how) {
  scene at(on, with, how);
  experiment& run = at.run;
  chained_table table;
  add_searchers(
      run, how,
      [&](std::uint64_t key) {
        simulated_lock& lock = at.lock.get();
        run.time(run.reads, [&] {
          lock.lock_shared();
          table.find(key);
          lock.unlock_shared();
        });
      },
      [&](std::uint64_t key) {
        simulated_lock& lock = at.lock.get();
        run.time(run.writes, [&] {
          lock.lock();
          table.replace(key);
          lock.unlock();
        });
      });
  return run.run();
}

// Nobody pauses. To insert and to erase takes a while, as the allocator does.
measurement hash_table_bench(const machine_description& on, const contender& with,
                             const workload_options& how) {
  constexpr duration allocation = 100;
  scene at(on, with, how);
  experiment& run = at.run;
  chained_table table;
  for (unsigned i = 0; i < how.threads; ++i) {
    const bool writes = i < 2;
    run.add_thread(numbered(writes ? "writer" : "reader", i), [&, writes] {
      const std::uint64_t key = run.on().random() % keys;
      simulated_lock& lock = at.lock.get();
      if (writes) {
        run.time_around(
            run.writes, [&] { lock.lock(); },
            [&] {
              table.replace(key);
              run.pause(allocation);
            },
            [&] { lock.unlock(); });
      } else {
        run.time_around(
            run.reads, [&] { lock.lock_shared(); }, [&] { table.find(key); },
            [&] { lock.unlock_shared(); });
      }
    });
  }
  return run.run();
}

measurement rcu_hash_table(const machine_description& on, const contender&,
                           const workload_options& how) {
  rcu_map_in_use table;
  experiment run(on, how);
  add_searchers(
      run, how,
      [&](std::uint64_t key) {
        const auto& in = table.get(run);
        run.time(run.reads, [&] { in.visit(key, [](const std::uint64_t&) {}); });
      },
      [&](std::uint64_t key) {
        auto& in = table.get(run);
        run.time(run.writes, [&] { in.insert_or_assign(key, key); });
      });
  return run.run();
}

}  // namespace readmost::simulation
