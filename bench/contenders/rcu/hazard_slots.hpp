// SPDX-License-Identifier: Apache-2.0
// Rivals of our own making: hazard pointers in two variants.
//
// `fenced` is the scheme that the papers measure as safe memory reclamation, with a fence in every
// protect() (RCU 1 and [30, 31]: M. M. Michael, "Hazard Pointers: Safe Memory Reclamation for
// Lock-Free Objects", IEEE TPDS 15(6), 2004, Figs. 2 and 3: lists of retired objects per thread,
// scanned when they are long enough). `asymmetric` is folly's scheme (Hazptr.h,
// AsymmetricThreadFence.h): a reader publishes by a plain store and a compiler barrier, and a scan
// runs a membarrier(2) before it reads the slots.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <readmost/detail/platform/platform.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {

enum class hazard_fence { fenced, asymmetric };

// The hazard pointers of one thread, during the lifetime of the object.
template <class T, hazard_fence kind, std::size_t slots = 2, class Deleter = std::default_delete<T>>
class hazard_slots {
 public:
  static constexpr std::size_t per_thread = slots;

  hazard_slots() : mine_(take()) {}
  ~hazard_slots() {
    for (std::size_t i = 0; i < per_thread; ++i) clear(i);
    if (!retired_.empty()) {
      scan();
      const std::lock_guard guard(all.mutex);
      all.orphans.insert(all.orphans.end(), retired_.begin(), retired_.end());
    }
    mine_.taken.store(false, std::memory_order_release);
  }
  hazard_slots(const hazard_slots&) = delete;
  hazard_slots& operator=(const hazard_slots&) = delete;

  // Returns the object that `source` points to. It is not deleted before slot `i` is cleared or set
  // again.
  T* protect(std::size_t i, const std::atomic<T*>& source) {
    T* seen = source.load(std::memory_order_relaxed);
    for (;;) {
      publish(i, seen);
      T* const again = source.load(std::memory_order_acquire);
      if (again == seen) return seen;
      seen = again;
    }
  }
  // Protects an object that the caller finds to be not retired afterwards.
  void publish(std::size_t i, T* object) {
    mine_.pointers[i].store(object, std::memory_order_release);
    // Pairs with the fence in scan().
    if constexpr (kind == hazard_fence::fenced) {
      readmost::detail::platform::full_fence();
    } else {
      readmost::detail::platform::light_fence();
    }
  }
  void clear(std::size_t i) { mine_.pointers[i].store(nullptr, std::memory_order_release); }

  // Deletes the object once it is not protected.
  void retire(T* object) {
    retired_.push_back(object);
    if (retired_.size() >= at_once) scan();
  }

  // Deletes the objects of threads that have ended. None of them may be protected.
  static void settle() {
    const std::lock_guard guard(all.mutex);
    for (T* one : all.orphans) Deleter()(one);
    all.orphans.clear();
  }

 private:
  static constexpr std::size_t most_threads = 128;
  // Twice the number of hazard pointers: each scan deletes at least half of the list.
  static constexpr std::size_t at_once = 2 * per_thread * most_threads;

  struct alignas(64) row {
    std::array<std::atomic<T*>, per_thread> pointers{};
    std::atomic<bool> taken{false};
  };
  struct shared_state {
    std::array<row, most_threads> rows;
    std::mutex mutex;
    std::vector<T*> orphans;
  };

  static row& take() {
    for (row& one : all.rows) {
      if (!one.taken.exchange(true, std::memory_order_acquire)) return one;
    }
    throw std::runtime_error("too many threads use hazard pointers");
  }

  void scan() {
    if constexpr (kind == hazard_fence::fenced) {
      readmost::detail::platform::full_fence();
    } else if (!readmost::detail::platform::enable_heavy_fence() ||
               !readmost::detail::platform::heavy_fence()) {
      throw std::runtime_error("membarrier(2) is needed and may not be used here");
    }
    std::vector<T*> kept;
    for (const row& one : all.rows) {
      for (const auto& pointer : one.pointers) {
        if (T* const found = pointer.load(std::memory_order_acquire)) kept.push_back(found);
      }
    }
    std::sort(kept.begin(), kept.end());
    const auto free = std::partition(retired_.begin(), retired_.end(), [&](T* one) {
      return std::binary_search(kept.begin(), kept.end(), one);
    });
    for (auto it = free; it != retired_.end(); ++it) Deleter()(*it);
    retired_.erase(free, retired_.end());
  }

  static inline shared_state all;

  row& mine_;
  std::vector<T*> retired_;
};

}  // namespace bench
