// The rare side of asymmetric fences.
//
// A light fence that reads `light_fences_are_light` as true is covered by the membarrier of every
// heavy one: nobody sets it before membarriers work. One that reads it as false is a full fence,
// and so is every heavy one. If the kernel refuses membarriers later, which a seccomp filter may
// have it do, a heavy fence runs on each CPU in turn instead.
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
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
      "before, and sched_setaffinity(2), which could replace it; light fences relied on one\n";
  platform::write_text(nullptr, text, std::strlen(text));
  std::abort();
}

// CPUs as bits, as the kernel takes them.
class cpu_set {
 public:
  // Of the calling thread; false if the kernel refuses.
  bool get() noexcept {
    const long got = syscall(SYS_sched_getaffinity, 0, sizeof words_, words_);
    if (got <= 0) return false;
    bytes_ = static_cast<std::size_t>(got);
    return true;
  }
  int set() const noexcept {
    return static_cast<int>(syscall(SYS_sched_setaffinity, 0, bytes_, words_));
  }
  std::size_t size() const noexcept { return bytes_ * 8; }
  // The CPU `which` alone; `of` tells how many there may be.
  void only(std::size_t which, const cpu_set& of) noexcept {
    std::memset(words_, 0, sizeof words_);
    bytes_ = of.bytes_;
    words_[which / bits] = 1UL << which % bits;
  }

 private:
  static constexpr std::size_t bits = sizeof(unsigned long) * 8;
  static constexpr std::size_t most_cpus = 8192;
  unsigned long words_[most_cpus / bits] = {};
  std::size_t bytes_ = 0;
};

// Runs on each CPU in turn. A thread that ran there has then been switched from, and one that has
// gone to a CPU that this thread has left has been switched to; either is a full fence. Leaves out
// CPUs that are offline or that the thread must not use: threads of the process in another cpuset
// would have to be there alone.
bool visit_all_cpus() noexcept {
  cpu_set before;
  if (!before.get()) return false;
  bool refused = false;
  cpu_set one;
  for (std::size_t cpu = 0; cpu < before.size() && !refused; ++cpu) {
    one.only(cpu, before);
    refused = one.set() != 0 && errno != EINVAL;
  }
  return before.set() == 0 && !refused;
}

bool fence_all_threads() noexcept {
  // A process may lose its registration, as the child of a fork does.
  return platform::heavy_fence() || (platform::enable_heavy_fence() && platform::heavy_fence());
}

// For light fences that rely on it.
void fence_all_threads_by_all_means() noexcept {
  const int error = errno;
  if (!fence_all_threads() && !visit_all_cpus()) end_with_message();
  errno = error;
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
      fence_all_threads_by_all_means();
    }
    light_fences_are_light.store(true, platform::relaxed);
  } else {
    fence_all_threads_by_all_means();
  }
  platform::full_fence();
}

}  // namespace readmost::detail
