#include "lock_memory.hpp"

#include <cstdlib>

#include "rivals/spin.hpp"

namespace rivals {

namespace {

struct piece {
  piece* next;
};

constexpr std::size_t most_lines = 64;
constexpr std::size_t bytes_at_once = 1U << 18;

// What follows is touched under this mutex alone.
constinit spin_mutex mutex;
piece* given_back[most_lines + 1];  // by the number of cache lines
char* fresh = nullptr;
std::size_t fresh_lines = 0;

constexpr std::size_t lines_of(std::size_t bytes) noexcept {
  return (bytes + platform::cache_line - 1) / platform::cache_line;
}

void* pages_of(std::size_t bytes) noexcept {
  void* const pages = platform::map_pages(bytes);
  if (pages == nullptr) std::abort();
  return pages;
}

}  // namespace

void* take_memory(std::size_t bytes) noexcept {
  const std::size_t lines = lines_of(bytes);
  if (lines > most_lines) return pages_of(bytes);
  piece* again = nullptr;
  {
    const holding<spin_mutex> lists(mutex);
    again = given_back[lines];
    if (again == nullptr) {
      if (fresh_lines < lines) {
        fresh = static_cast<char*>(pages_of(bytes_at_once));
        fresh_lines = bytes_at_once / platform::cache_line;
      }
      void* const memory = fresh;
      fresh += lines * platform::cache_line;
      fresh_lines -= lines;
      return memory;
    }
    given_back[lines] = again->next;
  }
  __builtin_memset(again, 0, lines * platform::cache_line);
  return again;
}

void give_back(void* memory, std::size_t bytes) noexcept {
  const std::size_t lines = lines_of(bytes);
  if (lines > most_lines) {
    platform::give_back({static_cast<const char*>(memory), bytes});
    return;
  }
  auto* const unused = static_cast<piece*>(memory);
  const holding<spin_mutex> lists(mutex);
  unused->next = given_back[lines];
  given_back[lines] = unused;
}

}  // namespace rivals

namespace readmost::interpose {

void watch_forks_of_lock_memory() noexcept {
  platform::watch_fork([] { rivals::mutex.lock(); }, [] { rivals::mutex.unlock(); },
                       [] { rivals::mutex.unlock(); });
}

}  // namespace readmost::interpose
