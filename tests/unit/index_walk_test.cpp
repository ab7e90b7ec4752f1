// SPDX-License-Identifier: Apache-2.0
// Walks of the index (present_walk in src/threads/registry.hpp) over several chunks of records.
#include <gtest/gtest.h>

#include <latch>
#include <map>
#include <thread>
#include <vector>

#include "support/surface.hpp"
#include "threads/registry.hpp"

namespace {

using namespace readmost::detail;

// That many threads are in the index until the end.
class crowd {
 public:
  explicit crowd(int size) : in_(size), records_(static_cast<std::size_t>(size)) {
    for (thread_record*& record : records_) {
      threads_.emplace_back([this, &record] {
        record = enlist();
        if (record != nullptr) come_online(*record);
        in_.count_down();
        out_.wait();
      });
    }
    in_.wait();
  }
  ~crowd() {
    out_.count_down();
    for (std::thread& thread : threads_) thread.join();
  }

  const std::vector<thread_record*>& records() const { return records_; }

 private:
  std::latch in_;
  std::latch out_{1};
  std::vector<thread_record*> records_;
  std::vector<std::thread> threads_;
};

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
  const crowd all(GetParam());
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
  const crowd all(GetParam());
  const std::size_t found = visits(nullptr, fetched::reports).size();
  for (const thread_record* left_out : all.records()) {
    const auto times = visits(left_out, fetched::reports);
    EXPECT_EQ(times.count(left_out), 0U);
    EXPECT_EQ(times.size(), found - 1);
  }
}

// The last chunk that is looked at may be full, or the one before it may not be.
TEST(index_walk_over_gaps, visits_each_record_once) {
  const crowd all(260);
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
