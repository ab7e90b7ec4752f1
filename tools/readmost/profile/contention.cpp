// SPDX-License-Identifier: Apache-2.0
#include "profile/contention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <map>

#include "process/preload.hpp"

namespace readmost::command {
namespace {

using namespace readmost::detail;

constexpr std::array<const char*, delay_kinds> deeds{"waits to read", "waits to write",
                                                     "revokes the bias"};

void add_mappings(const profile_table& table, std::vector<code_mapping>& mappings) {
  const std::uint32_t used = table.modules_used.load(platform::relaxed);
  for (std::size_t i = 0; i < std::min<std::size_t>(used, profile_table::most_modules); ++i) {
    const profile_module& m = table.modules[i];
    code_mapping mapping{m.start, m.end, m.offset, m.inode,
                         std::string(m.path, strnlen(m.path, sizeof m.path))};
    if (std::ranges::find(mappings, mapping) == mappings.end()) {
      mappings.push_back(std::move(mapping));
    }
  }
}

// Whether the function only passes a call on to the lock, or is a part of Readmost's, which a
// program may contain. Where it is inlined its name may lack the class; then its source tells.
bool passes_on(const function_name& function) {
  constexpr std::array<std::string_view, 17> begins{"readmost::",
                                                    "readmost_rwlock_",
                                                    "pthread_rwlock_",
                                                    "__pthread_rwlock_",
                                                    "std::__glibcxx_rwlock_",
                                                    "__glibcxx_rwlock_",
                                                    "std::shared_mutex::",
                                                    "std::shared_timed_mutex",
                                                    "std::__shared_mutex_",
                                                    "std::__shared_timed_",
                                                    "std::unique_lock<",
                                                    "std::shared_lock<",
                                                    "std::lock_guard<",
                                                    "std::scoped_lock<",
                                                    "std::__1::shared_",
                                                    "std::__1::unique_lock<",
                                                    "std::__1::lock_guard<"};
  const std::string& text = function.text;
  // That of a template begins with its type.
  const std::size_t name = text.starts_with("void ") || text.starts_with("bool ") ? 5 : 0;
  if (std::ranges::any_of(begins, [&](std::string_view begin) {
        return text.compare(name, begin.size(), begin) == 0;
      })) {
    return true;
  }
  if (function.source.find("include/readmost/") != std::string::npos) return true;
  // Of libstdc++ and libc++.
  constexpr std::array<std::string_view, 6> headers{
      "shared_mutex", "mutex", "std_mutex.h", "unique_lock.h", "lock_guard.h", "shared_lock.h"};
  return function.source.find("/c++/") != std::string::npos &&
         std::ranges::find(headers, file_name_of(function.source)) != headers.end();
}

class reader {
 public:
  reader(const profile_table& table, const profile_table* earlier, symbols& names)
      : table_(table), earlier_(earlier), names_(names) {}

  std::vector<contention_stack> stacks() {
    name_locks();
    std::vector<contention_stack> all;
    for (std::size_t i = 0; i < profile_table::capacity; ++i) {
      const profile_stack& entry = table_.stacks[i];
      contention_stack one;
      one.nanoseconds = nanoseconds_of(i);
      if (one.nanoseconds == 0) continue;
      one.events = entry.events.load(platform::relaxed) -
                   (is_in_earlier(i) ? earlier_->stacks[i].events.load(platform::relaxed) : 0);
      const auto named = lock_names_.find(entry.lock);
      one.lock = named != lock_names_.end() ? named->second : "others";
      one.deed = deed_of(entry.kind);
      one.frames = frames_of(entry);
      all.push_back(std::move(one));
    }
    add_lost(all);
    return all;
  }

 private:
  bool is_in_earlier(std::size_t i) const {
    return earlier_ != nullptr && earlier_->stacks[i].key.load(platform::relaxed) ==
                                      table_.stacks[i].key.load(platform::relaxed);
  }
  // 0 also of one that is not complete.
  std::uint64_t nanoseconds_of(std::size_t i) const {
    const profile_stack& entry = table_.stacks[i];
    if (entry.count.load(platform::relaxed) == 0) return 0;
    const std::uint64_t before =
        is_in_earlier(i) ? earlier_->stacks[i].nanoseconds.load(platform::relaxed) : 0;
    const std::uint64_t now = entry.nanoseconds.load(platform::relaxed);
    return now > before ? now - before : 0;
  }

  static std::string deed_of(delay_kind kind) {
    const auto number = static_cast<std::size_t>(kind);
    return number < deeds.size() ? deeds[number] : "";
  }

  // Variables have names. Of locks elsewhere, of which there may be many, those that cost most are
  // told apart.
  void name_locks() {
    std::map<std::uintptr_t, std::uint64_t> cost;
    for (std::size_t i = 0; i < profile_table::capacity; ++i) {
      if (const std::uint64_t time = nanoseconds_of(i)) cost[table_.stacks[i].lock] += time;
    }
    cost.erase(0);
    std::vector<std::pair<std::uint64_t, std::uintptr_t>> nameless;
    for (const auto& [lock, time] : cost) {
      const std::string name = names_.variable_at(lock - table_.core_offset);
      if (name.empty()) {
        nameless.emplace_back(time, lock);
      } else {
        lock_names_[lock] = name;
      }
    }
    constexpr std::size_t most = 10;
    std::ranges::sort(nameless, std::greater());
    for (std::size_t i = 0; i < std::min(most, nameless.size()); ++i) {
      const std::uintptr_t lock = nameless[i].second;
      lock_names_[lock] = fmt::format("{:#x}", lock - table_.core_offset);
    }
  }

  const contention_frame& frame_at(std::uintptr_t address) {
    auto [found, is_new] = frames_.try_emplace(address);
    if (is_new) found->second = {address, names_.functions_at(address)};
    return found->second;
  }

  bool is_in_library(std::uintptr_t address) const {
    const code_mapping* const mapping = names_.mapping_of(address);
    if (mapping == nullptr) return false;
    const std::string_view file = file_name_of(mapping->path);
    return file.starts_with(library_file) || file.starts_with("libreadmost.so");
  }

  std::vector<contention_frame> frames_of(const profile_stack& entry) {
    std::vector<contention_frame> frames;
    const std::size_t count =
        std::min<std::size_t>(entry.count.load(platform::relaxed), profile_stack::depth);
    bool inside = true;
    for (std::size_t i = 0; i < count; ++i) {
      // The return address may already lie past the end of the function.
      const std::uintptr_t address = entry.frames[i] - 1;
      if (entry.frames[i] == 0 || (inside && is_in_library(address))) continue;
      contention_frame frame = frame_at(address);
      if (inside) {
        // What is inlined into the library's functions may have no full name.
        if (passes_on(frame.functions.back())) continue;
        const auto callers = std::ranges::find_if_not(frame.functions, passes_on);
        frame.functions.erase(frame.functions.begin(), callers);
        if (frame.functions.empty()) continue;
        inside = false;
      }
      frames.push_back(std::move(frame));
    }
    return frames;
  }

  void add_lost(std::vector<contention_stack>& all) const {
    for (std::size_t kind = 0; kind < delay_kinds; ++kind) {
      std::uint64_t nanoseconds = table_.lost_nanoseconds[kind].load(platform::relaxed);
      std::uint64_t events = table_.lost_events[kind].load(platform::relaxed);
      if (earlier_ != nullptr) {
        nanoseconds -= earlier_->lost_nanoseconds[kind].load(platform::relaxed);
        events -= earlier_->lost_events[kind].load(platform::relaxed);
      }
      if (nanoseconds == 0) continue;
      contention_frame frame;
      frame.functions.push_back({"more stacks than the table holds", "", "", 0});
      all.push_back({"others", deeds[kind], {frame}, nanoseconds, events});
    }
  }

  const profile_table& table_;
  const profile_table* earlier_;
  symbols& names_;
  std::map<std::uintptr_t, std::string> lock_names_;
  std::map<std::uintptr_t, contention_frame> frames_;
};

}  // namespace

profile_copy profile_in_file(const std::filesystem::path& file) {
  auto table = std::make_unique<profile_table>();
  std::ifstream content(file, std::ios::binary);
  content.read(reinterpret_cast<char*>(table.get()), sizeof *table);
  if (!table->has_magic()) return nullptr;
  if (content.gcount() != sizeof *table || table->size != sizeof *table) {
    warn_of_other_build(std::atoi(file.filename().c_str()));
    return nullptr;
  }
  return table;
}

void warn_of_other_build(int process) {
  fmt::print(stderr,
             "readmost: warning: process {} has a profile of another build of Readmost, which is "
             "not shown; use the 'readmost' of that build\n",
             process);
}

process_profile readable(const std::vector<taken_profile>& tables, const std::string& root) {
  process_profile profile;
  profile.process = tables.front().table->process;
  std::vector<code_mapping> mappings;
  for (const taken_profile& each : tables) add_mappings(*each.table, mappings);
  profile.names = std::make_shared<symbols>(std::move(mappings), root);
  if (!profile.names->mappings().empty()) {
    profile.program = file_name_of(profile.names->mappings().front().path);
  }
  for (const taken_profile& each : tables) {
    std::ranges::move(reader(*each.table, each.earlier.get(), *profile.names).stacks(),
                      std::back_inserter(profile.stacks));
  }
  std::ranges::sort(profile.stacks, std::greater(), &contention_stack::nanoseconds);
  return profile;
}

}  // namespace readmost::command
