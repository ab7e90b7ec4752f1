// SPDX-License-Identifier: Apache-2.0
// Writes the statistics when the program ends, if the environment asks for them.
#include <cerrno>
#include <cstring>
#include <readmost/detail/threads/domain.hpp>

#include "interpose/lock_tables.hpp"
#include "interpose/settings.hpp"
#include "platform/text.hpp"
#include "statistics/lock_statistics.hpp"
#include "statistics/statistics.hpp"

namespace readmost::detail::interpose {

namespace {

std::uint64_t started = 0;

using count = unsigned long long;

double seconds_of(std::uint64_t nanoseconds) noexcept {
  return static_cast<double>(nanoseconds) / 1e9;
}

void add_json(text_buffer& t, const statistics& s, const lock_survey* survey,
              const settings& chosen, std::uint64_t running) noexcept {
  t.add("{\"program\":");
  t.add_json_string(program_invocation_name);
  t.add(",\"pid\":%d,\"version\":\"%s\",\"lock\":\"%s\",\"prefer\":\"%s\",\"membarrier\":%s",
        platform::process_id(), READMOST_VERSION, name_of(chosen.lock).data(),
        name_of(chosen.prefers), s.membarrier ? "true" : "false");
  t.add(",\"seconds\":%.6f,\"locks\":%llu,\"reads\":{\"passive\":%llu,\"active\":%llu}",
        seconds_of(running), count{s.locks}, count{s.passive_reads}, count{s.active_reads});
  t.add(",\"writes\":%llu,\"revocations\":%llu,\"rounds\":{\"reports\":%llu,\"membarrier\":%llu}",
        count{s.writes}, count{s.revocations}, count{s.rounds_by_reports},
        count{s.rounds_by_membarrier});
  if (survey != nullptr) add_locks_to_json(t, *survey, running);
  t.add("}\n");
}

void add_table(text_buffer& t, const statistics& s, const lock_survey* survey,
               const settings& chosen, std::uint64_t running) noexcept {
  const double reads = static_cast<double>(s.passive_reads + s.active_reads);
  t.add("readmost %s: ", READMOST_VERSION);
  t.add_shown(program_invocation_name);
  t.add(" (process %d), lock %s, %.2f s\n", platform::process_id(), name_of(chosen.lock).data(),
        seconds_of(running));
  if (chosen.lock != lock_choice::prwlock) {
    t.add("  every lock was left to %s, which counts nothing\n", server_of(chosen.lock).data());
    return;
  }
  if (!s.membarrier) {
    t.add("  the kernel offers no membarrier(2) here: passive reads execute a fence\n");
  }
  t.add("  locks                    %15llu\n", count{s.locks});
  t.add("  reads, passive           %15llu  %5.1f%%\n", count{s.passive_reads},
        reads > 0 ? 100.0 * static_cast<double>(s.passive_reads) / reads : 0.0);
  t.add("  reads, active            %15llu\n", count{s.active_reads});
  t.add("  writes                   %15llu\n", count{s.writes});
  t.add("  revocations              %15llu\n", count{s.revocations});
  t.add("  rounds by reports        %15llu\n", count{s.rounds_by_reports});
  t.add("  rounds by membarrier     %15llu\n", count{s.rounds_by_membarrier});
  if (survey != nullptr && survey->count != 0) add_locks_to_table(t, *survey, running);
}

__attribute__((constructor)) void note_start() noexcept {
  started = platform::now();
  current_settings();
}

__attribute__((destructor)) void write_report() noexcept {
  const settings& chosen = current_settings();
  if (!chosen.stats) return;
  statistics s{};
  static lock_survey survey;
  bool is_surveyed = false;
  if (chosen.lock == lock_choice::prwlock) {
    s = collect_statistics();
    // The reports of a shell or a wrapper that used no lock would only hide the program's. A fork's
    // child may have used none but its parent's, which are not counted again.
    if (s.locks + s.passive_reads + s.active_reads + s.writes == 0) return;
    is_surveyed = survey_locks(survey);
  }
  const std::uint64_t running = platform::now() - started;
  const char* file = chosen.stats_file;
  const std::size_t name_length = file == nullptr ? 0 : std::strlen(file);
  text_buffer t;
  if (name_length >= 5 && std::strcmp(file + name_length - 5, ".json") == 0) {
    add_json(t, s, is_surveyed ? &survey : nullptr, chosen, running);
  } else {
    add_table(t, s, is_surveyed ? &survey : nullptr, chosen, running);
  }
  if (!platform::write_text(file, t.data(), t.length()) && file != nullptr) {
    text_buffer complaint;
    complaint.add("readmost: cannot write statistics to READMOST_STATS=%.500s; here they are\n",
                  file);
    platform::write_text(nullptr, complaint.data(), complaint.length());
    platform::write_text(nullptr, t.data(), t.length());
  }
}

}  // namespace

}  // namespace readmost::detail::interpose
