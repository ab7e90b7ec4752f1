#include "made_locks.hpp"

#include <cstdlib>

#include "rivals/spin.hpp"

namespace readmost::interpose {

namespace {

// In front of a lock's memory, on a line of its own.
struct alignas(platform::cache_line) block {
  block* next;  // in its bucket or among the retired
  const layout* serves;
};

constexpr std::size_t buckets = 1U << 14;
constexpr std::size_t retired_kept = 1024;
constexpr std::size_t bytes_at_once = 1U << 18;

// All that follows is touched under this mutex alone.
constinit rivals::spin_mutex mutex;
block* serving[buckets];
// In the order in which they were retired.
block* first_retired = nullptr;
block** end_of_retired = &first_retired;
std::size_t retired = 0;
char* free_memory = nullptr;
std::size_t free_bytes = 0;

using holding = rivals::holding<rivals::spin_mutex>;

void* lock_in(block& b) noexcept {
  return &b + 1;
}

block*& bucket_of(const layout& l) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(&l) >> 3;
  return serving[(address * 0x9E37'79B9'7F4A'7C15U) >> (64 - 14)];
}

// Takes what serves the lock at this address out of its bucket; null if nothing does.
block* take_from_bucket(const layout& l) noexcept {
  for (block** link = &bucket_of(l); *link != nullptr; link = &(*link)->next) {
    block* const found = *link;
    if (found->serves != &l) continue;
    *link = found->next;
    return found;
  }
  return nullptr;
}

void retire(block& b) noexcept {
  b.next = nullptr;
  *end_of_retired = &b;
  end_of_retired = &b.next;
  ++retired;
}

block* oldest_retired() noexcept {
  block* const oldest = first_retired;
  first_retired = oldest->next;
  if (first_retired == nullptr) end_of_retired = &first_retired;
  --retired;
  return oldest;
}

block* new_block(std::size_t lock_size) noexcept {
  const std::size_t lines = (lock_size + platform::cache_line - 1) / platform::cache_line;
  const std::size_t size = sizeof(block) + lines * platform::cache_line;
  if (free_bytes < size) {
    free_bytes = size > bytes_at_once ? size : bytes_at_once;
    free_memory = static_cast<char*>(platform::map_pages(free_bytes));
    if (free_memory == nullptr) std::abort();
  }
  block* const made = reinterpret_cast<block*>(free_memory);
  free_memory += size;
  free_bytes -= size;
  return made;
}

}  // namespace

void watch_forks_of_made_locks() noexcept {
  platform::watch_fork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
}

void* make_lock(layout& l, const lock_class& of) noexcept {
  const holding lists(mutex);
  if (void* const made = l.made.load(platform::acquire)) return made;
  if (block* const of_former_lock = take_from_bucket(l)) retire(*of_former_lock);
  block* b = nullptr;
  if (retired > retired_kept) {
    b = oldest_retired();
    of.destruct(lock_in(*b));
  } else {
    b = new_block(of.size);
  }
  of.construct(lock_in(*b));
  b->serves = &l;
  b->next = bucket_of(l);
  bucket_of(l) = b;
  // Whoever finds it finds it constructed.
  l.made.store(lock_in(*b), platform::release);
  return lock_in(*b);
}

void retire_lock(layout& l) noexcept {
  const holding lists(mutex);
  if (block* const served = take_from_bucket(l)) retire(*served);
  l.made.store(nullptr, platform::relaxed);
}

}  // namespace readmost::interpose
