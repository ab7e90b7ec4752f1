// A rival of our own making: hazard pointers as folly has them, in as few lines as will do. A
// reader publishes by a plain store and a compiler barrier; whoever reclaims runs a membarrier(2)
// before it looks at what is published. (folly: Hazptr.h, AsymmetricThreadFence.h)
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

class asymmetric_hazard_pointer {
 public:
  asymmetric_hazard_pointer() : slot_(take()) {}
  ~asymmetric_hazard_pointer() {
    reset_protection();
    slot_.taken.store(false, std::memory_order_release);
  }
  asymmetric_hazard_pointer(const asymmetric_hazard_pointer&) = delete;
  asymmetric_hazard_pointer& operator=(const asymmetric_hazard_pointer&) = delete;

  template <class T>
  T* protect(const std::atomic<T*>& source) noexcept {
    T* seen = source.load(std::memory_order_relaxed);
    for (;;) {
      slot_.pointer.store(seen, std::memory_order_release);
      readmost::detail::platform::light_fence();  // made a full one by the heavy fence in reclaim()
      T* const again = source.load(std::memory_order_acquire);
      if (again == seen) return seen;
      seen = again;
    }
  }
  void reset_protection() noexcept { slot_.pointer.store(nullptr, std::memory_order_release); }

  // Deletes it once it is not protected, at the latest with the many that are retired after it.
  template <class T>
  static void retire(T* object) {
    const std::lock_guard guard(retired().mutex);
    retired().objects.push_back({object, [](void* it) { delete static_cast<T*>(it); }});
    if (retired().objects.size() >= 2 * most_slots) reclaim(retired().objects);
  }

  // Deletes all that is retired and not protected.
  static void clean_up() {
    const std::lock_guard guard(retired().mutex);
    reclaim(retired().objects);
  }

 private:
  static constexpr std::size_t most_slots = 128;

  struct alignas(64) slot {
    std::atomic<const void*> pointer{nullptr};
    std::atomic<bool> taken{false};
  };
  struct retired_object {
    void* object;
    void (*destroy)(void*);
  };
  struct retired_objects {
    std::mutex mutex;
    std::vector<retired_object> objects;
  };

  static std::array<slot, most_slots>& slots() {
    static std::array<slot, most_slots> all;
    return all;
  }
  static retired_objects& retired() {
    static retired_objects all;
    return all;
  }

  static slot& take() {
    for (slot& one : slots()) {
      if (!one.taken.exchange(true, std::memory_order_acquire)) return one;
    }
    throw std::runtime_error("too many hazard pointers");
  }

  static void reclaim(std::vector<retired_object>& objects) {
    if (!readmost::detail::platform::enable_heavy_fence() ||
        !readmost::detail::platform::heavy_fence()) {
      throw std::runtime_error("membarrier(2) is needed and may not be used here");
    }
    std::vector<const void*> kept;
    for (const slot& one : slots()) kept.push_back(one.pointer.load(std::memory_order_acquire));
    const auto is_kept = [&](const retired_object& one) {
      return std::find(kept.begin(), kept.end(), one.object) != kept.end();
    };
    const auto free = std::partition(objects.begin(), objects.end(), is_kept);
    for (auto it = free; it != objects.end(); ++it) it->destroy(it->object);
    objects.erase(free, objects.end());
  }

  slot& slot_;
};

}  // namespace bench
