// SPDX-License-Identifier: Apache-2.0
#include "lab/made_locks.hpp"

#include "lab/lock_memory.hpp"
#include "threads/parts.hpp"

namespace readmost::detail::lab {

namespace {

// Precedes a lock's memory, on a cache line of its own.
struct alignas(platform::cache_line) block {
  block* next;  // in its bucket or among the retired
  const layout* serves;
};

constexpr std::size_t buckets = 1U << 14;
constexpr std::size_t retired_kept = 1024;

// Only a thread that has closed it accesses the variables below.
constinit gate lists_gate;
block* serving[buckets];
// Oldest first.
block* first_retired = nullptr;
block** end_of_retired = &first_retired;
std::size_t retired = 0;

void* lock_in(block& b) noexcept {
  return &b + 1;
}

block*& bucket_of(const layout& l) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(&l) >> 3;
  return serving[(address * 0x9E37'79B9'7F4A'7C15U) >> (64 - 14)];
}

// Takes the block that serves the lock at this address out of its bucket; null if there is none.
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

// Null while there are so few retired blocks that a thread may still be in the unlock of the
// oldest.
block* oldest_retired() noexcept {
  const closed_gate lists(lists_gate);
  if (retired <= retired_kept) return nullptr;
  block* const oldest = first_retired;
  first_retired = oldest->next;
  if (first_retired == nullptr) end_of_retired = &first_retired;
  --retired;
  return oldest;
}

std::size_t size_with(const lock_class& of) noexcept {
  return sizeof(block) + of.size;
}

block& construct_lock(const lock_class& of) noexcept {
  block* b = oldest_retired();
  if (b != nullptr) {
    of.destruct(lock_in(*b));
  } else {
    b = static_cast<block*>(rivals::take_memory(size_with(of)));
  }
  of.construct(lock_in(*b));
  return *b;
}

void destroy_lock(block& b, const lock_class& of) noexcept {
  of.destruct(lock_in(b));
  rivals::give_back(&b, size_with(of));
}

// Makes the block serve `l`, unless one does already; returns the lock that serves it.
void* serve(layout& l, block& b) noexcept {
  const closed_gate lists(lists_gate);
  if (void* const made = l.made.load(platform::acquire)) return made;
  if (block* const of_former_lock = take_from_bucket(l)) retire(*of_former_lock);
  b.serves = &l;
  b.next = bucket_of(l);
  bucket_of(l) = &b;
  // Release: a thread that finds the lock finds it constructed.
  l.made.store(lock_in(b), platform::release);
  return lock_in(b);
}

}  // namespace

void watch_forks_of_made_locks() noexcept {
  add_part(closed_at_fork<lists_gate>);
}

// The lock is constructed while the gate is open, because that may read /proc or take memory.
void* make_lock(layout& l, const lock_class& of) noexcept {
  block& b = construct_lock(of);
  void* const made = serve(l, b);
  if (made != lock_in(b)) destroy_lock(b, of);
  return made;
}

void retire_lock(layout& l) noexcept {
  const closed_gate lists(lists_gate);
  if (block* const served = take_from_bucket(l)) retire(*served);
  l.made.store(nullptr, platform::relaxed);
}

}  // namespace readmost::detail::lab
