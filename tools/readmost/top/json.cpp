#include "json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "top/rates.hpp"

namespace readmost::command {
namespace {

json per_second(const top_counts& counts, double seconds) {
  const auto rate = [&](std::uint64_t count) {
    return std::round(static_cast<double>(count) / seconds * 10) / 10;
  };
  return {
      {"reads", {{"passive", rate(counts.passive_reads)}, {"active", rate(counts.active_reads)}}},
      {"writes", rate(counts.writes)},
      {"revocations", rate(counts.revocations)}};
}

json waits_as_json(const wait_figures& waits) {
  return {{"count", waits.count}, {"p50", waits.p50}, {"p99", waits.p99}};
}

}  // namespace

std::string as_json(top_target& target, const top_rates& rates) {
  json document = {{"program", target.program()},
                   {"pid", target.pid()},
                   {"version", READMOST_VERSION},
                   {"lock", name_of(rates.now.lock)},
                   {"seconds", rates.seconds},
                   {"threads", rates.now.threads},
                   {"per_second", per_second(rates.all, rates.seconds)},
                   {"hottest", rates.now.per_lock ? json::array() : json(nullptr)}};
  if (!rates.now.per_lock) return text_of(document, -1);
  for (const lock_rates& lock : rates.hottest) {
    const std::uintptr_t address = lock.lock - target.core_offset();
    document["hottest"].push_back({{"lock", fmt::format("{:#x}", address)},
                                   {"place", target.place_of(address)},
                                   {"per_second", per_second(lock.counts, rates.seconds)},
                                   {"waits",
                                    {{"readers", waits_as_json(lock.read_waits)},
                                     {"writers", waits_as_json(lock.write_waits)}}}});
  }
  return text_of(document, -1);
}

}  // namespace readmost::command
