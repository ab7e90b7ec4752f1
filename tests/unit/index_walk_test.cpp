// SPDX-License-Identifier: Apache-2.0
// Walks of the index (present_walk in src/threads/registry.hpp) over several chunks of records.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "threads/registry.hpp"
#include "unit/crowd_in_index.hpp"

namespace {

using namespace readmost::detail;
using test::crowd_in_index;

// How often a walk visits each record.
std::map<const thread_record*, int> visits(const thread_record* but, fetched what) {
  std::map<const thread_record*, int> times;
  for (present_walk walk(default_domain, but, what); walk.record() != nullptr; walk.next()) {
    ++times[walk.record()];
  }
  return times;
}

class index_walk : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(of_threads, index_walk,
                         testing::Values(1, 2, 63, 64, 65, 127, 128, 129, 200, 300),
                         [](const auto& info) { return std::to_string(info.param); });

TEST_P(index_walk, visits_each_record_once) {
  const crowd_in_index all(GetParam());
  for (const fetched what : {fetched::reports, fetched::slots_too}) {
    const auto times = visits(nullptr, what);
    for (const thread_record* record : all.records()) {
      ASSERT_NE(record, nullptr);
      EXPECT_EQ(times.count(record), 1U);
    }
    for (const auto& [record, often] : times) EXPECT_EQ(often, 1);
  }
}

TEST_P(index_walk, leaves_out_one) {
  const crowd_in_index all(GetParam());
  const std::size_t found = visits(nullptr, fetched::reports).size();
  for (const thread_record* left_out : all.records()) {
    const auto times = visits(left_out, fetched::reports);
    EXPECT_EQ(times.count(left_out), 0U);
    EXPECT_EQ(times.size(), found - 1);
  }
}

// Each record is put off twice, and the walk does not leave a chunk before it has come back.
TEST_P(index_walk, comes_back_to_records_that_are_put_off) {
  const crowd_in_index all(GetParam());
  std::map<const thread_record*, int> looks;
  std::vector<const chunk*> chunks;
  for (present_walk walk(default_domain); walk.record() != nullptr;) {
    const thread_record* const record = walk.record();
    if (chunks.empty() || chunks.back() != &chunk_of(*record)) chunks.push_back(&chunk_of(*record));
    if (++looks[record] == 3) {
      walk.next();
    } else {
      walk.put_off();
    }
  }
  for (const thread_record* record : all.records()) EXPECT_EQ(looks[record], 3);
  EXPECT_EQ(std::set(chunks.begin(), chunks.end()).size(), chunks.size());
}

// The last chunk that is looked at may be full, or the one before it may not be.
TEST(index_walk_over_gaps, visits_each_record_once) {
  const crowd_in_index all(260);
  std::vector<thread_record*> present = all.records();
  for (const std::size_t gap : {5U, 70U, 63U, 191U, 255U}) {
    // As if its thread had left the index.
    give_back_bit(entry_of(*present[gap]).present, number_of(*present[gap]), platform::release);
    const auto times = visits(nullptr, fetched::reports);
    EXPECT_EQ(times.count(present[gap]), 0U);
    std::size_t seen = 0;
    for (const thread_record* record : present) seen += times.count(record);
    entry_of(*present[gap]).present.fetch_or(bit(number_of(*present[gap])));
    EXPECT_EQ(seen, present.size() - 1);
  }
}

}  // namespace
