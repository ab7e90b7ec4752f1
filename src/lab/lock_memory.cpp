// SPDX-License-Identifier: Apache-2.0
#include "lab/lock_memory.hpp"

#include <cstdlib>

#include "threads/parts.hpp"

namespace rivals {

namespace {

struct piece {
  piece* next;
  std::size_t lines;
};

// Larger pieces have pages of their own and share one list.
constexpr std::size_t most_lines = 64;
constexpr std::size_t bytes_at_once = 1U << 18;

// Only a thread that has closed it accesses the variables below.
constinit readmost::detail::gate memory_gate;
piece* given_back[most_lines + 1];  // by the number of cache lines; the first: larger ones
char* fresh = nullptr;
std::size_t fresh_lines = 0;

constexpr std::size_t lines_of(std::size_t bytes) noexcept {
  return (bytes + platform::cache_line - 1) / platform::cache_line;
}

piece*& list_of(std::size_t lines) noexcept {
  return given_back[lines <= most_lines ? lines : 0];
}

// Null if no piece of that size has been given back.
piece* take_again(std::size_t lines) noexcept {
  const readmost::detail::closed_gate lists(memory_gate);
  for (piece** link = &list_of(lines); *link != nullptr; link = &(*link)->next) {
    piece* const found = *link;
    if (found->lines != lines) continue;
    *link = found->next;
    return found;
  }
  return nullptr;
}

void* pages_of(std::size_t bytes) noexcept {
  void* const pages = platform::map_pages(bytes);
  if (pages == nullptr) std::abort();
  return pages;
}

}  // namespace

void* take_memory(std::size_t bytes) noexcept {
  const std::size_t lines = lines_of(bytes);
  if (piece* const again = take_again(lines)) {
    __builtin_memset(static_cast<void*>(again), 0, lines * platform::cache_line);
    return again;
  }
  if (lines > most_lines) return pages_of(bytes);
  const readmost::detail::closed_gate pages(memory_gate);
  if (fresh_lines < lines) {
    fresh = static_cast<char*>(pages_of(bytes_at_once));
    fresh_lines = bytes_at_once / platform::cache_line;
  }
  void* const memory = fresh;
  fresh += lines * platform::cache_line;
  fresh_lines -= lines;
  return memory;
}

void give_back(void* memory, std::size_t bytes) noexcept {
  auto* const unused = static_cast<piece*>(memory);
  unused->lines = lines_of(bytes);
  const readmost::detail::closed_gate lists(memory_gate);
  piece*& list = list_of(unused->lines);
  unused->next = list;
  list = unused;
}

}  // namespace rivals

namespace readmost::detail::lab {

void watch_forks_of_lock_memory() noexcept {
  add_part(closed_at_fork<rivals::memory_gate>);
}

}  // namespace readmost::detail::lab
