// A rival of our own making: hazard pointers as the paper measures them under the name of safe
// memory reclamation, with a fence in every protect(). (RCU 1 and [30, 31]: M. M.
// Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", IEEE TPDS 15(6), 2004,
// Figs. 2 and 3: lists of retired objects per thread, scanned when they are long enough.)
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <readmost/detail/platform/platform.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

namespace bench {

// The hazard pointers of one thread, for as long as this exists.
template <class T>
class michael_hazard_pointers {
 public:
  static constexpr std::size_t per_thread = 2;

  michael_hazard_pointers() : mine_(take()) {}
  ~michael_hazard_pointers() {
    for (std::size_t i = 0; i < per_thread; ++i) clear(i);
    scan();
    {
      const std::lock_guard guard(shared().mutex);
      auto& orphans = shared().orphans;
      orphans.insert(orphans.end(), retired_.begin(), retired_.end());
    }
    mine_.taken.store(false, std::memory_order_release);
  }
  michael_hazard_pointers(const michael_hazard_pointers&) = delete;
  michael_hazard_pointers& operator=(const michael_hazard_pointers&) = delete;

  // What `source` points to, not deleted before hazard pointer `i` is cleared or set again.
  T* protect(std::size_t i, const std::atomic<T*>& source) {
    T* seen = source.load(std::memory_order_relaxed);
    for (;;) {
      mine_.pointers[i].store(seen, std::memory_order_release);
      readmost::detail::platform::full_fence();  // with the one in scan()
      T* const again = source.load(std::memory_order_acquire);
      if (again == seen) return seen;
      seen = again;
    }
  }
  void clear(std::size_t i) { mine_.pointers[i].store(nullptr, std::memory_order_release); }

  // Deletes it once it is not protected.
  void retire(T* object) {
    retired_.push_back(object);
    if (retired_.size() >= at_once) scan();
  }

  // Deletes what threads have left behind. Nobody may protect any of it.
  static void settle() {
    const std::lock_guard guard(shared().mutex);
    for (T* one : shared().orphans) delete one;
    shared().orphans.clear();
  }

 private:
  static constexpr std::size_t most_threads = 128;
  // Twice as many as there can be hazard pointers: each scan deletes at least half.
  static constexpr std::size_t at_once = 2 * per_thread * most_threads;

  struct alignas(64) row {
    std::array<std::atomic<T*>, per_thread> pointers{};
    std::atomic<bool> taken{false};
  };
  struct everybodys {
    std::array<row, most_threads> rows;
    std::mutex mutex;
    std::vector<T*> orphans;
  };

  static everybodys& shared() {
    static everybodys all;
    return all;
  }
  static row& take() {
    for (row& one : shared().rows) {
      if (!one.taken.exchange(true, std::memory_order_acquire)) return one;
    }
    throw std::runtime_error("too many threads for michael_hazard_pointers");
  }

  void scan() {
    readmost::detail::platform::full_fence();
    std::vector<T*> kept;
    for (const row& one : shared().rows) {
      for (const auto& pointer : one.pointers) {
        if (T* const found = pointer.load(std::memory_order_acquire)) kept.push_back(found);
      }
    }
    std::sort(kept.begin(), kept.end());
    const auto free = std::partition(retired_.begin(), retired_.end(), [&](T* one) {
      return std::binary_search(kept.begin(), kept.end(), one);
    });
    for (auto it = free; it != retired_.end(); ++it) delete *it;
    retired_.erase(free, retired_.end());
  }

  row& mine_;
  std::vector<T*> retired_;
};

}  // namespace bench
