#include "statistics.hpp"

#include "registry.hpp"

namespace readmost {

statistics collect_statistics() noexcept {
  domain& d = default_domain;
  statistics sum{};
  sum.membarrier = passive_possible();
  sum.locks = d.locks_met.load(platform::relaxed);
  for_each_record(d, [&](const thread_record& record, bool) {
    for (const auto& reads : record.reads) sum.passive_reads += reads.load(platform::relaxed);
    sum.active_reads += record.active_reads.load(platform::relaxed);
    sum.writes += record.writes.load(platform::relaxed);
    sum.revocations += record.revocations.load(platform::relaxed);
  });
  sum.rounds_by_reports = d.rounds_by_reports.load(platform::relaxed);
  sum.rounds_by_membarrier = d.rounds_by_membarrier.load(platform::relaxed);
  return sum;
}

void forget_statistics() noexcept {
  domain& d = default_domain;
  for_each_record(d, [](thread_record& record, bool) {
    for (std::size_t i = 0; i < held_slots; ++i) {
      record.reads[i].store(0, platform::relaxed);
      record.credited[i] = 0;
    }
    record.active_reads.store(0, platform::relaxed);
    record.writes.store(0, platform::relaxed);
    record.revocations.store(0, platform::relaxed);
  });
  d.locks_met.store(0, platform::relaxed);
  d.rounds_by_reports.store(0, platform::relaxed);
  d.rounds_by_membarrier.store(0, platform::relaxed);
}

}  // namespace readmost
