// SPDX-License-Identifier: Apache-2.0
// Data with a version number: readers never see half an update.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <readmost/rcu_pointer.hpp>
#include <readmost/rcu_version.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/helper_thread.hpp"

namespace {

using readmost::rcu_versioned;
using test::helper_thread;

struct pair {
  pair() = default;
  explicit pair(int both) : left(both), right(both) {}
  std::atomic<int> left{0};
  std::atomic<int> right{0};
};
using versioned_pair = rcu_versioned<pair>;

static_assert(!std::is_copy_constructible_v<versioned_pair>);

int left_of(const pair& now) {
  return now.left;
}

TEST(rcu_versioned, reads_what_it_was_made_of) {
  const versioned_pair data(std::in_place, 7);
  EXPECT_EQ(data.read(left_of), 7);
  EXPECT_EQ(versioned_pair().read(left_of), 0);
}

TEST(rcu_versioned, reads_what_was_updated) {
  versioned_pair data;
  EXPECT_EQ(data.update([](pair& now) { return now.left = now.right = 2; }), 2);
  EXPECT_EQ(data.read(left_of), 2);
}

TEST(rcu_versioned, returns_what_its_function_returns) {
  const versioned_pair data(std::in_place, 3);
  EXPECT_EQ(data.read([](const pair& now) { return std::to_string(now.left); }), "3");
  const auto owner = data.read([](const pair& now) { return std::make_unique<int>(now.right); });
  EXPECT_EQ(*owner, 3);
  int calls = 0;
  data.read([&](const pair&) { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(rcu_versioned, reads_in_a_section_and_leaves_it) {
  const versioned_pair data;
  const readmost::rcu_ticket ticket = readmost::rcu_start_poll();
  data.read([&](const pair&) { EXPECT_FALSE(readmost::rcu_poll(readmost::rcu_start_poll())); });
  EXPECT_TRUE(readmost::rcu_poll(ticket));
}

TEST(rcu_versioned, reads_in_the_domain_that_is_given) {
  static_assert(!std::is_default_constructible_v<readmost::domain_rcu_versioned<pair>>);
  EXPECT_EQ(&versioned_pair().domain(), &readmost::rcu_default_domain());
  readmost::separate_rcu_domain own;
  const readmost::domain_rcu_versioned<pair> data(own, std::in_place, 4);
  EXPECT_EQ(&data.domain(), &own);
  EXPECT_EQ(data.read([&](const pair& now) {
    EXPECT_FALSE(readmost::rcu_poll(readmost::rcu_start_poll(own), own));
    EXPECT_TRUE(readmost::rcu_poll(readmost::rcu_start_poll()));
    return now.left.load();
  }),
            4);
}

TEST(rcu_versioned, reads_again_after_an_update_in_between) {
  versioned_pair data;
  helper_thread writer;
  std::vector<int> seen;
  const int found = data.read([&](const pair& now) {
    const int left = now.left;
    if (seen.size() < 3) writer.call([&] { data.update([](pair& to) { ++to.left, ++to.right; }); });
    seen.push_back(left);
    return left - now.right;
  });
  EXPECT_EQ(found, 0);
  EXPECT_EQ(seen, (std::vector<int>{0, 1, 2, 3}));
}

TEST(rcu_versioned, discards_an_exception_of_a_call_that_met_an_update) {
  versioned_pair data;
  helper_thread writer;
  bool first = true;
  EXPECT_EQ(data.read([&](const pair& now) {
    if (first) {
      first = false;
      writer.call([&] { data.update([](pair& to) { to.left = 5; }); });
      throw std::runtime_error("half an update");
    }
    return now.left.load();
  }),
            5);
}

TEST(rcu_versioned, passes_on_an_exception_of_a_call_that_met_none) {
  versioned_pair data;
  EXPECT_THROW(data.read([](const pair&) { throw std::runtime_error("none"); }),
               std::runtime_error);
  // Also where it holds updates off.
  EXPECT_THROW(data.read([](const pair&) { throw std::runtime_error("none"); }, 0),
               std::runtime_error);
  EXPECT_THROW(data.update([](pair&) { throw std::runtime_error("none"); }), std::runtime_error);
  data.update([](pair& to) { to.left = 1; });
  EXPECT_EQ(data.read(left_of), 1);
}

TEST(rcu_versioned, a_reader_waits_for_the_update_under_way) {
  versioned_pair data;
  helper_thread reader;
  data.update([&](pair& now) {
    now.left = 1;
    reader.begin(
        [&] { return data.read([](const pair& seen) { return seen.left - seen.right; }); });
    EXPECT_TRUE(reader.falls_asleep());
    // Outside of sections, so an update may wait for a grace period.
    readmost::rcu_synchronize();
    now.right = 1;
  });
  EXPECT_EQ(reader.end(), 0);
}

TEST(rcu_versioned, updates_come_one_after_the_other) {
  versioned_pair data;
  helper_thread writer;
  data.update([&](pair& now) {
    writer.begin([&] { data.update([](pair& then) { then.left = 2; }); });
    EXPECT_TRUE(writer.falls_asleep());
    now.left = 1;
  });
  EXPECT_EQ(writer.end(), helper_thread::done);
  EXPECT_EQ(data.read(left_of), 2);
}

TEST(rcu_versioned, a_reader_without_patience_holds_updates_off) {
  versioned_pair data;
  helper_thread writer;
  const auto update = [&] { data.update([](pair& to) { ++to.left; }); };
  int calls = 0;
  const int found = data.read(
      [&](const pair& now) {
        // The first two calls meet an update each; the third is the last.
        if (++calls <= 2) {
          writer.call(update);
        } else if (calls == 3) {
          writer.begin(update);
          EXPECT_TRUE(writer.falls_asleep());
        }
        return now.left.load();
      },
      2);
  EXPECT_EQ(writer.end(), helper_thread::done);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(found, 2);
  EXPECT_EQ(data.read(left_of), 3);
}

TEST(rcu_versioned, several_readers_hold_updates_off_side_by_side) {
  versioned_pair data;
  helper_thread writer, other;
  data.read(
      [&](const pair&) {
        EXPECT_EQ(other.call([&] { return data.read(left_of, 0); }), 0);
        writer.begin([&] { data.update([](pair& to) { to.left = 1; }); });
        EXPECT_TRUE(writer.falls_asleep());
      },
      0);
  EXPECT_EQ(writer.end(), helper_thread::done);
  EXPECT_EQ(data.read(left_of), 1);
}

// Objects move between slots and are replaced by copies; the sum of their values stays.
TEST(rcu_versioned, readers_never_see_half_an_update_and_get_through_however_many_there_are) {
  struct file {
    int size;
  };
  struct directory {
    std::array<readmost::rcu_pointer<const file>, 4> slots;
  };
  rcu_versioned<directory> files;
  files.update([](directory& now) {
    now.slots[0].assign(std::make_unique<const file>(3));
    now.slots[1].assign(std::make_unique<const file>(4));
  });
  std::atomic<bool> stop{false};
  std::atomic<int> updates{0};
  std::vector<std::thread> writers;
  for (unsigned writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&, writer] {
      for (unsigned i = writer; !stop.load(); ++i) {
        ++updates;
        files.update([i](directory& now) {
          auto& from = now.slots[i % 4];
          auto& to = now.slots[(i + 1 + i / 4 % 3) % 4];
          std::unique_ptr<const file> moved(from.exchange(nullptr));
          from.assign(std::unique_ptr<const file>(to.exchange(std::move(moved))));
        });
        files.update([i](directory& now) {
          auto& slot = now.slots[i % 4];
          const readmost::rcu_reader section;
          if (const file* old = slot.load()) slot.assign(std::make_unique<const file>(old->size));
        });
      }
    });
  }
  int wrong = 0;
  unsigned most_calls = 0;
  // Long enough to meet updates on a busy machine too.
  for (int i = 0; i < 50'000 || updates < 10'000; ++i) {
    unsigned calls = 0;
    const int sum = files.read(
        [&calls](const directory& now) {
          ++calls;
          int total = 0;
          for (const auto& slot : now.slots) {
            if (const file* found = slot.load()) total += found->size;
          }
          return total;
        },
        static_cast<unsigned>(i % 8));
    if (sum != 7) ++wrong;
    most_calls = std::max(most_calls, calls);
  }
  stop = true;
  for (std::thread& each : writers) each.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(most_calls, 8U);
}

}  // namespace
