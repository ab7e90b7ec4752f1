// SPDX-License-Identifier: Apache-2.0
// Reports for whole chunks of records (src/threads/chunk_report.hpp).
#include "threads/chunk_report.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <readmost/shared_mutex.hpp>
#include <set>
#include <thread>
#include <vector>

#include "lock/bias_trial.hpp"
#include "threads/registry.hpp"
#include "unit/crowd_in_index.hpp"

namespace {

using namespace readmost::detail;
using test::crowd_in_index;

constexpr std::uint64_t version = 100;
constexpr std::uint32_t reporter = version / 2;
constexpr std::uint64_t all_of_chunk = ~std::uint64_t{0};

// A domain with two chunks that are full. The threads report what the test says.
class chunk_reports : public testing::Test {
 protected:
  chunk_reports() {
    second_.reports_as_one = true;
    for (const thread_record* record : crowd_.records()) records_.insert(record);
    for (thread_record& record : second_.records) record.seen.store(version);
  }
  // The domain has yet to come to these versions.
  ~chunk_reports() override {
    for (auto& settled : second_.report.settled) settled.store(0);
  }

  std::uint64_t settled(std::uint64_t since) const {
    return settled_in(second_, all_of_chunk, since);
  }

 private:
  const crowd_in_index crowd_{2 * chunk::capacity};

 protected:
  chunk& second_ = *default_domain.index.load()->entries[1].records.load();
  std::set<const thread_record*> records_;
};

TEST_F(chunk_reports, tell_who_has_reported_and_holds_nothing) {
  second_.records[3].seen.store(version + 1);  // holds something
  second_.records[4].seen.store(version + 2);
  second_.records[63].seen.store(version - 2);
  report_for_chunk(second_.records[reporter], version);
  EXPECT_EQ(settled(version), all_of_chunk & ~bit(3) & ~bit(63));
}

TEST_F(chunk_reports, count_for_their_version_and_earlier_ones) {
  report_for_chunk(second_.records[reporter], version);
  EXPECT_EQ(settled(version), all_of_chunk);
  EXPECT_EQ(settled(version - 2), all_of_chunk);
  EXPECT_EQ(settled(version + 2), 0U);
}

TEST_F(chunk_reports, are_made_by_one_thread_for_each_version) {
  for (std::uint32_t i = 0; i < chunk::capacity; ++i) {
    if (i != reporter) report_for_chunk(second_.records[i], version);
  }
  EXPECT_EQ(settled(version), 0U);
  for (thread_record& record : second_.records) record.seen.store(version + 2);
  report_for_chunk(second_.records[reporter + 1], version + 2);
  EXPECT_EQ(settled(version + 2), all_of_chunk);
}

TEST_F(chunk_reports, are_made_by_the_next_that_is_in_the_index) {
  auto& present = entry_of(second_.records[0]).present;
  present.fetch_and(~bit(reporter) & ~bit(reporter + 1));
  report_for_chunk(second_.records[reporter + 2], version);
  EXPECT_EQ(settled_in(second_, present.load(), version), present.load());
  present.store(all_of_chunk);
}

TEST_F(chunk_reports, are_not_made_where_there_are_few_cpus) {
  second_.reports_as_one = false;
  report_for_chunk(second_.records[reporter], version);
  EXPECT_EQ(settled(version), 0U);
}

TEST_F(chunk_reports, are_not_made_for_few_threads) {
  auto& present = entry_of(second_.records[0]).present;
  for (const std::uint32_t threads : {reported_from - 1, reported_from}) {
    present.store(all_of_chunk >> (chunk::capacity - threads));
    for (const thread_record& record : second_.records) report_for_chunk(record, version);
    EXPECT_EQ(settled(version) != 0, threads == reported_from);
  }
  present.store(all_of_chunk);
}

TEST_F(chunk_reports, that_come_late_settle_nothing_for_later_versions) {
  report_for_chunk(second_.records[reporter], version);
  report_for_chunk(second_.records[reporter - 1], version - 2);
  EXPECT_EQ(settled(version), 0U);
  EXPECT_EQ(settled(version - 2), all_of_chunk);
}

TEST_F(chunk_reports, spare_rounds_the_looks_at_those_records) {
  second_.records[7].seen.store(version - 2);
  report_for_chunk(second_.records[reporter], version);
  std::size_t visited = 0;
  for (present_walk walk(default_domain, nullptr, fetched::reports, version);
       walk.record() != nullptr; walk.next()) {
    if (records_.count(walk.record()) == 0) continue;
    ++visited;
    EXPECT_TRUE(&chunk_of(*walk.record()) != &second_ || number_of(*walk.record()) == 7);
  }
  EXPECT_EQ(visited, chunk::capacity + 1);
}

void stay() {
  for (int i = 0; i < 200; ++i) platform::relax();
}

class chunk_reports_in_use : public testing::Test {
 protected:
  // No trial of the bias, which might choose fences: threads would not have to report.
  chunk_reports_in_use() {
    reported_from = 1;
    bias_trials[0].in_use.store(1);
  }
  ~chunk_reports_in_use() override {
    reported_from = usually_;
    bias_trials[0].in_use.store(0);
  }

 private:
  const std::uint32_t usually_ = reported_from;
};

// Until a writer has been spared looks, and for some hundred writes at least.
TEST_F(chunk_reports_in_use, keep_readers_and_writers_apart) {
  const crowd_in_index others(chunk::capacity);
  readmost::shared_mutex mutex;
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::atomic<bool> stop{false};
  std::atomic<bool> torn{false};
  std::vector<std::thread> readers;
  std::atomic<int> online{0};
  std::atomic<bool> go{false};
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      enlist();
      ++online;
      while (!go) std::this_thread::yield();
      while (!stop) {
        mutex.lock_shared();
        const std::uint64_t before = first;
        stay();
        if (before != second) torn = true;
        mutex.unlock_shared();
      }
    });
  }
  while (online != 3) std::this_thread::yield();
  chunk& used = *default_domain.index.load()->entries[1].records.load();
  used.reports_as_one = true;
  go = true;

  constexpr int enough = 300;
  const auto latest = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  bool spared = false;
  bool in_time = true;
  for (int writes = 0; in_time && (writes < enough || !spared); ++writes) {
    mutex.lock();
    ++first;
    stay();
    ++second;
    spared = spared || settled_in(used, all_of_chunk, default_domain.version.load()) != 0;
    mutex.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    in_time = std::chrono::steady_clock::now() < latest;
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_TRUE(in_time) << "no report for a chunk in time";
  EXPECT_FALSE(torn);
}

}  // namespace
