// SPDX-License-Identifier: Apache-2.0
#include "platform/findings.hpp"

#include <cstring>
#include <initializer_list>

namespace readmost::detail {

namespace {

constexpr std::size_t most_own_frames = 8;
constexpr std::size_t most_of_a_frame = 320;

}  // namespace

trace trace_from(const void* caller) noexcept {
  trace found;
  if (caller == nullptr) return found;
  std::uintptr_t all[most_own_frames + most_frames];
  const std::size_t count = platform::backtrace(all, most_own_frames + most_frames);
  const auto wanted = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t i = 0; i < count && found.count < most_frames; ++i) {
    if (all[i] != 0 && (found.count != 0 || all[i] == wanted)) {
      found.frames[found.count++] = all[i];
    }
  }
  // No unwind tables.
  if (found.count == 0) found.frames[found.count++] = wanted;
  return found;
}

trace trace_from_here() noexcept {
  trace found;
  found.count = platform::backtrace(found.frames, most_frames);
  while (found.count != 0 && found.frames[found.count - 1] == 0) --found.count;
  return found;
}

std::uint64_t mixed(std::uint64_t so_far, std::uintptr_t more) noexcept {
  const std::uint64_t both = (so_far ^ more) * 0x9E37'79B9'7F4A'7C15U;
  return both ^ both >> 29;
}

// --- Once for each kind and place ----------------------------------------------------------------

namespace {

constexpr std::size_t most_known = 1024;
constinit platform::atomic<std::uint64_t> known[most_known];

// Whether this is a function that passes the program's call on to the library, if it is not
// inlined.
bool passes_on(const char* symbol) noexcept {
  const auto starts_with = [symbol](const char* what) {
    return std::strncmp(symbol, what, std::strlen(what)) == 0;
  };
  // The compiler may have inlined a deleter into this one.
  if (starts_with("_ZN8readmost6detail15retired_pointer")) return false;
  for (const char* each :
       {"_ZN8readmost", "_ZNK8readmost", "_ZNSt11scoped_lock", "_ZNSt11unique_lock",
        "_ZNSt11shared_lock", "_ZNSt10lock_guard", "_ZNSt3__111scoped_lock",
        "_ZNSt3__111unique_lock", "_ZNSt3__111shared_lock", "_ZNSt3__110lock_guard",
        "_ZNSt12shared_mutex", "_ZNSt18shared_timed_mutex", "_ZNSt22__shared_mutex_pthread",
        "readmost_rwlock_", "pthread_rwlock_", "__pthread_rwlock_"}) {
    if (starts_with(each)) return true;
  }
  return std::strstr(symbol, "__glibcxx_rwlock_") != nullptr;
}

}  // namespace

bool is_new(std::uint64_t what) noexcept {
  if (what == 0) what = 1;
  for (std::size_t i = 0; i < most_known; ++i) {
    auto& entry = known[(what + i) % most_known];
    std::uint64_t found = entry.load(platform::relaxed);
    if (found == 0 &&
        entry.compare_exchange_strong(found, what, platform::relaxed, platform::relaxed)) {
      return true;
    }
    if (found == what) return false;
  }
  return false;
}

bool is_new_way(std::uint64_t what, const trace& where) noexcept {
  // The frames that distinguish places before symbols are looked up.
  constexpr std::size_t frames_to_compare = 4;
  for (std::size_t i = 0; i < frames_to_compare && i < where.count; ++i) {
    what = mixed(what, where.frames[i]);
  }
  return is_new(what);
}

std::uintptr_t place_in(const trace& where, const address_space& space) noexcept {
  for (std::size_t i = 0; i < where.count; ++i) {
    if (!passes_on(space.place_of(where.frames[i] - 1).symbol)) return where.frames[i];
  }
  return where.frames[0];
}

trace without_library(const trace& whole, const address_space& space) noexcept {
  // In a library of its own, the last frame in that; else the last one that passes a call on.
  static constexpr char anchor = 0;
  const place here = space.place_of(reinterpret_cast<std::uintptr_t>(&anchor));
  const char* const slash = std::strrchr(here.mapping, '/');
  const bool apart = slash != nullptr && std::strncmp(slash + 1, "libreadmost", 11) == 0;
  std::size_t first = 0;
  while (first < whole.count) {
    const place at = space.place_of(whole.frames[first] - 1);
    const bool inside = apart && std::strcmp(at.mapping, here.mapping) == 0;
    if (!inside && !passes_on(at.symbol)) break;
    ++first;
  }
  if (first == whole.count) return whole;
  trace rest;
  for (std::size_t i = first; i < whole.count; ++i) rest.frames[rest.count++] = whole.frames[i];
  return rest;
}

// --- Text ----------------------------------------------------------------------------------------

void add_seconds(text_buffer& t, std::uint64_t nanoseconds) noexcept {
  const auto milliseconds = static_cast<unsigned long long>(nanoseconds / 1'000'000);
  t.add("%llu.%03llu s", milliseconds / 1000, milliseconds % 1000);
}

void add_thread(text_buffer& t, std::int32_t thread) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
  const platform::file_content name = platform::content_of(path);
  t.add("thread %d", thread);
  if (name.size > 1) t.add(" (%.*s)", static_cast<int>(name.size - 1), name.data);
  platform::give_back(name);
}

void add_frames(text_buffer& t, const char* first, const trace& where, const address_space& space,
                std::size_t most) noexcept {
  for (std::size_t i = 0; i < where.count && i < most && t.length() < most_text - most_of_a_frame;
       ++i) {
    // The return address may already be past the end of the function.
    const place at = space.place_of(where.frames[i] - 1);
    const char* const slash = std::strrchr(at.mapping, '/');
    const char* const file = slash != nullptr ? slash + 1 : at.mapping;
    const auto offset = static_cast<unsigned long long>(at.offset);
    t.add("  %10s ", i == 0 ? first : "called by");
    if (*at.mapping == '\0') {
      t.add("0x%llx\n", static_cast<unsigned long long>(where.frames[i]));
    } else if (*at.symbol == '\0') {
      t.add("%.80s+0x%llx\n", file, offset);
    } else {
      t.add("%.160s+0x%llx (%.80s+0x%llx)\n", at.symbol,
            static_cast<unsigned long long>(at.symbol_offset), file, offset);
    }
  }
}

}  // namespace readmost::detail
