// SPDX-License-Identifier: Apache-2.0
// Implements lock_free_set for a structure under a policy, and lists a policy's structures.
#pragma once

#include <chrono>
#include <numeric>
#include <thread>

#include "contenders/reclamation/lock_free_list.hpp"
#include "contenders/reclamation/lock_free_sets.hpp"
#include "contenders/reclamation/search_tree.hpp"
#include "contenders/reclamation/skip_list.hpp"
#include "harness/random_numbers.hpp"

namespace bench {

template <class Policy, class Structure>
class lock_free_set_of final : public lock_free_set {
  using thread = typename Structure::thread;
  using node = typename Structure::node;

 public:
  template <class... Args>
  explicit lock_free_set_of(Args... arguments) : set_(arguments...) {}
  ~lock_free_set_of() override { Policy::template settle<node>(); }

  set_result fill(std::uint64_t range) override {
    thread me;
    set_result result;
    const std::uint64_t keys = range / 2;
    // In an order that keeps a tree flat: by about the golden section each time.
    std::uint64_t step = keys * 618 / 1000 + 1;
    while (std::gcd(step, keys) != 1) ++step;
    for (std::uint64_t i = 0; i < keys; ++i) {
      const std::uint64_t key = 1 + i * step % keys * 2;
      if (!set_.insert(me, key)) continue;
      ++result.inserted;
      result.sum += key;
    }
    return result;
  }

  set_result use(const std::atomic<bool>& stopped, std::uint64_t seed, const set_workload& load,
                 std::atomic<std::uint64_t>& operations) override {
    constexpr unsigned batch = 16;
    thread me;
    random_numbers random(seed);
    set_result result;
    for (std::uint64_t done = 0; !stopped.load(std::memory_order_relaxed);) {
      for (unsigned i = 0; i < batch; ++i) {
        const std::uint64_t key = 1 + (random() * load.range >> 32);
        const auto choice = static_cast<unsigned>(random() * 100 >> 32);
        if (choice < load.inserts) {
          if (set_.insert(me, key)) {
            ++result.inserted;
            result.sum += key;
          }
        } else if (choice < load.inserts + load.removals) {
          if (set_.remove(me, key)) {
            ++result.removed;
            result.sum -= key;
          }
        } else {
          set_.contains(me, key);
        }
      }
      operations.store(done += batch, std::memory_order_relaxed);
    }
    return result;
  }

  void stall(const std::atomic<bool>& stopped, std::atomic<bool>& inside) override {
    thread me;
    const typename thread::operation open(me);
    set_.hold_first(me);
    inside = true;
    while (!stopped.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  void settle() override { Policy::template settle<node>(); }
  std::string fault(const set_result& changes) const override {
    set_result found;
    std::string fault = set_.for_each([&](std::uint64_t key) {
      ++found.inserted;
      found.sum += key;
    });
    if (!fault.empty()) return fault;
    if (found.inserted != changes.inserted - changes.removed)
      return "a set has lost or gained keys";
    if (found.sum != changes.sum) return "a set has other keys than were put in";
    return {};
  }
  std::size_t bytes_of_node() const override { return sizeof(node); }

 private:
  Structure set_;
};

template <class Policy>
reclamation_policy policy_of() {
  return {
      Policy::name,
      {{"List", 512,
        [](std::uint64_t) -> std::unique_ptr<lock_free_set> {
          return std::make_unique<lock_free_set_of<Policy, lock_free_list<Policy>>>();
        }},
       {"Map", 65'536,
        [](std::uint64_t range) -> std::unique_ptr<lock_free_set> {
          return std::make_unique<lock_free_set_of<Policy, lock_free_hash_map<Policy>>>(range / 2);
        }},
       {"Tree", 65'536,
        [](std::uint64_t) -> std::unique_ptr<lock_free_set> {
          return std::make_unique<lock_free_set_of<Policy, search_tree<Policy>>>();
        }},
       {"Skip list", 65'536,
        [](std::uint64_t) -> std::unique_ptr<lock_free_set> {
          return std::make_unique<lock_free_set_of<Policy, skip_list<Policy>>>();
        }}},
      Policy::template thread<list_node<Policy>>::protects_each};
}

}  // namespace bench
