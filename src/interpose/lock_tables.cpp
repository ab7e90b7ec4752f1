// SPDX-License-Identifier: Apache-2.0
#include "interpose/lock_tables.hpp"

#include <cstring>

#include "interpose/layout.hpp"
#include "interpose/settings.hpp"
#include "platform/address_space.hpp"

namespace readmost::detail::interpose {

namespace {

using count = unsigned long long;

constexpr std::size_t frames_shown = 16;

// Calls visit(place) for the program's frames: from the first one outside of this library on.
template <class Visit>
void for_each_frame(std::uintptr_t lock, const address_space& space, Visit visit) noexcept {
  lock_table* const table = lock_statistics.table.load(platform::acquire);
  const std::size_t number = entry_of(*table, lock);
  if (number == lock_table::others) return;
  static constexpr char anchor = 0;
  place here = space.place_of(reinterpret_cast<std::uintptr_t>(&anchor));
  bool outside = false;
  std::size_t shown = 0;
  for (const auto& frame : table->origins[number].frames) {
    const std::uintptr_t address = frame.load(platform::relaxed);
    if (address == 0 || shown == frames_shown) return;
    // The return address may already lie past the end of the function.
    const place where = space.place_of(address - 1);
    outside = outside || std::strcmp(where.mapping, here.mapping) != 0;
    if (!outside) continue;
    visit(where);
    ++shown;
  }
}

// The address of the program's lock.
std::uintptr_t address_of(const lock_figures& f) noexcept {
  return f.lock - core_offset;
}

// In the words of 'readmost run'.
wait_remedies remedies() noexcept {
  constexpr const char* shorter_writes = "shorten what writers do inside";
  constexpr const char* shorter_reads = "shorten what readers do inside";
  switch (current_settings().prefers) {
    case prefer_choice::writer:
      return {"--prefer phase-fair gives readers turns", shorter_reads};
    case prefer_choice::phase_fair:
      return {shorter_writes, shorter_reads};
    case prefer_choice::by_kind:
    case prefer_choice::reader:
      break;
  }
  return {shorter_writes, "--prefer writer lets them in first"};
}

void add_waits(text_buffer& t, const char* whose, const wait_figures& waits) noexcept {
  if (waits.count == 0) return;
  t.add("      %s waited %llu times: p50 %s, p99 %s, longest %s\n", whose, count{waits.count},
        as_duration(waits.p50).text, as_duration(waits.p99).text, as_duration(waits.longest).text);
}

void add_figures(text_buffer& t, const lock_figures& f) noexcept {
  t.add("      reads %llu, %.1f%% passive; writes %llu", count{f.reads()}, f.biased_percent(),
        count{f.writes});
  if (const std::uint64_t revocations = f.all_revocations(); revocations != 0) {
    t.add("; revocations %llu, %s each", count{revocations},
          as_duration(f.revoking / revocations).text);
  }
  t.add("\n");
  add_waits(t, "readers", f.read_waits);
  add_waits(t, "writers", f.write_waits);
  if (f.longest_write != 0) {
    t.add("      longest write hold %s", as_duration(f.longest_write).text);
    if (f.longest_drain != 0) {
      t.add("; longest wait for readers inside %s", as_duration(f.longest_drain).text);
    }
    t.add("\n");
  }
}

void add_json_waits(text_buffer& t, const char* key, const wait_figures& waits) noexcept {
  t.add("\"%s\":{\"count\":%llu,\"total\":%llu,\"p50\":%llu,\"p99\":%llu,\"longest\":%llu}", key,
        count{waits.count}, count{waits.total}, count{waits.p50}, count{waits.p99},
        count{waits.longest});
}

void add_json_figures(text_buffer& t, const lock_figures& f) noexcept {
  t.add("\"reads\":{\"passive\":%llu,\"active\":%llu},\"writes\":%llu", count{f.passive_reads},
        count{f.active_reads}, count{f.writes});
  t.add(
      ",\"revocations\":{\"alone\":%llu,\"reports\":%llu,\"membarrier\":%llu,\"nanoseconds\":%llu}",
      count{f.revocations[0]}, count{f.revocations[1]}, count{f.revocations[2]}, count{f.revoking});
  t.add(",\"waits\":{");
  add_json_waits(t, "readers", f.read_waits);
  t.add(",");
  add_json_waits(t, "writers", f.write_waits);
  t.add("},\"longest\":{\"write_hold\":%llu,\"wait_for_readers\":%llu}", count{f.longest_write},
        count{f.longest_drain});
}

void add_json_place(text_buffer& t, const place& where) noexcept {
  t.add("{\"symbol\":");
  if (*where.symbol != '\0') {
    t.add_json_string(where.symbol);
    t.add(",\"symbol_offset\":%llu", count{where.symbol_offset});
  } else {
    t.add("null,\"symbol_offset\":null");
  }
  t.add(",\"mapping\":");
  if (*where.mapping != '\0') {
    t.add_json_string(where.mapping);
    t.add(",\"offset\":%llu}", count{where.offset});
  } else {
    t.add("null,\"offset\":null}");
  }
}

}  // namespace

void add_locks_to_table(text_buffer& t, const lock_survey& survey,
                        std::uint64_t nanoseconds) noexcept {
  const address_space space("/proc/self");
  bool is_lost = false;
  t.add("  the hottest locks, by reads and writes\n");
  for (std::size_t i = 0; i < survey.count; ++i) {
    const lock_figures& f = survey.hottest[i];
    char where[1024];
    const place lock = space.place_of(address_of(f));
    describe(lock, where, sizeof where);
    t.add("  %2zu. %s: %s\n", i + 1, where, verdict_on(f, nanoseconds, remedies()).text);
    add_figures(t, f);
    if (f.incarnations > 1) {
      t.add("      %llu locks, one after the other, at this address\n", count{f.incarnations});
    }
    bool is_first = true;
    for_each_frame(f.lock, space, [&](const place& frame) {
      describe(frame, where, sizeof where);
      t.add("      %13s %s\n", is_first ? "first used in" : "called by", where);
      is_first = false;
    });
    is_lost = is_lost || (*lock.symbol == '\0' && is_first);
  }
  if (survey.other_locks != 0) {
    t.add("      all %zu others:\n", survey.other_locks);
    add_figures(t, survey.others);
  }
  if (is_lost) t.add("  READMOST_STATS_BACKTRACE=1 tells who used each lock first\n");
}

void add_locks_to_json(text_buffer& t, const lock_survey& survey,
                       std::uint64_t nanoseconds) noexcept {
  const address_space space("/proc/self");
  t.add(",\"hottest\":[");
  for (std::size_t i = 0; i < survey.count; ++i) {
    const lock_figures& f = survey.hottest[i];
    t.add("%s{\"lock\":\"0x%llx\",\"place\":", i == 0 ? "" : ",", count{address_of(f)});
    add_json_place(t, space.place_of(address_of(f)));
    t.add(",\"incarnations\":%llu,", count{f.incarnations});
    add_json_figures(t, f);
    t.add(",\"verdict\":");
    t.add_json_string(verdict_on(f, nanoseconds, remedies()).text);
    t.add(",\"first_used_in\":[");
    const char* separator = "";
    for_each_frame(f.lock, space, [&](const place& frame) {
      t.add("%s", separator);
      add_json_place(t, frame);
      separator = ",";
    });
    t.add("]}");
  }
  t.add("],\"others\":{\"locks\":%zu,", survey.other_locks);
  add_json_figures(t, survey.others);
  t.add("}");
}

}  // namespace readmost::detail::interpose
