// SPDX-License-Identifier: Apache-2.0
// std::pmr::synchronized_pool_resource shared by all threads. libstdc++ keeps a pool for each
// thread in it, but takes a std::shared_mutex to find it: on every allocation and every
// deallocation.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>

#include "timed_threads.hpp"

namespace {

// Holds a few blocks, each with a mark at both ends, and replaces the oldest one at each call.
class allocating_thread {
 public:
  allocating_thread(std::pmr::memory_resource& pool, std::size_t words, unsigned thread)
      : allocator_{&pool}, words_{words}, mark_{std::uint64_t{thread} << 48} {
    for (std::uint64_t*& block : blocks_) block = allocate();
  }
  allocating_thread(const allocating_thread&) = delete;

  ~allocating_thread() {
    for (std::uint64_t* block : blocks_) allocator_.deallocate(block, words_);
  }

  void operator()() {
    std::uint64_t*& oldest = blocks_[next_++ % blocks_.size()];
    examples::require(oldest[0] == oldest[words_ - 1] && oldest[0] + blocks_.size() == mark_,
                      "a block changed under its owner: two threads got the same memory");
    allocator_.deallocate(oldest, words_);
    oldest = allocate();
  }

 private:
  std::uint64_t* allocate() {
    std::uint64_t* block = allocator_.allocate(words_);
    block[0] = block[words_ - 1] = mark_++;
    return block;
  }

  std::pmr::polymorphic_allocator<std::uint64_t> allocator_;
  std::size_t words_;
  std::uint64_t mark_;
  std::array<std::uint64_t*, 16> blocks_{};
  std::size_t next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  unsigned words = 8;
  const examples::program program{
      "pmr_pool",
      "Threads allocate and free blocks of one size, as a container of nodes does, in one "
      "std::pmr::synchronized_pool_resource; an operation is one of each.",
      {{"--words", &words, "Size of a block, in words of 8 bytes", 2, 1024}}};
  return program.main(argc, argv, [&](const examples::settings& chosen) {
    std::pmr::synchronized_pool_resource pool;
    return examples::run(chosen, [&](unsigned thread) {
      return [held = std::make_unique<allocating_thread>(pool, words, thread)] { (*held)(); };
    });
  });
}
