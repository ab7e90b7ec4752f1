// The rare side of asymmetric fences.
//
// A light fence that reads `light_fences_are_light` as true is covered by the membarrier of every
// heavy one: nobody sets it before membarriers work. One that reads it as false is a full fence,
// and so is every heavy one.
#include <cstdlib>
#include <cstring>
#include <readmost/detail/platform/asymmetric_fence.hpp>

namespace readmost::detail {

platform::atomic<bool> light_fences_are_light{false};

namespace {

// Whether a heavy fence has found that the process has no membarriers.
platform::atomic<bool> all_are_full{false};

[[noreturn]] void end_with_message() noexcept {
  const char* const text =
      "readmost: asymmetric_thread_fence_heavy: the kernel refuses membarrier(2), which it allowed "
      "before; light fences relied on it\n";
  platform::write_text(nullptr, text, std::strlen(text));
  std::abort();
}

// A process may lose its registration, as the child of a fork does.
bool fence_all_threads() noexcept {
  return platform::heavy_fence() || (platform::enable_heavy_fence() && platform::heavy_fence());
}

}  // namespace

void execute_heavy_fence() noexcept {
  platform::full_fence();
  if (!light_fences_are_light.load(platform::relaxed)) {
    if (all_are_full.load(platform::relaxed)) return;
    if (!fence_all_threads()) {
      // Another thread may have been allowed what this one is not.
      all_are_full.store(!light_fences_are_light.load(platform::relaxed), platform::relaxed);
      if (!light_fences_are_light.load(platform::relaxed)) return;
      end_with_message();
    }
    light_fences_are_light.store(true, platform::relaxed);
  } else if (!fence_all_threads()) {
    end_with_message();
  }
  platform::full_fence();
}

}  // namespace readmost::detail
