// SPDX-License-Identifier: Apache-2.0
// The table of visible readers: slots, hash, growth, scans.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <readmost/bravo.hpp>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "support/helper_thread.hpp"

namespace {

using namespace readmost::detail;
using readmost::bravo;
using readmost::bravo_policy;
using test::helper_thread;

// --- Scans --------------------------------------------------------------------------------------

struct alignas(64) many_slots {
  std::array<visible_slot, 4096> slot{};
};

class bravo_scan : public testing::TestWithParam<scan_with> {
 protected:
  std::size_t found(std::size_t from, std::size_t count, std::uint64_t lock) const {
    return find_hold(table_->slot.data(), from, count, lock, GetParam());
  }
  std::unique_ptr<many_slots> table_ = std::make_unique<many_slots>();
};

constexpr std::uint64_t some_lock = 0x0000'7F12'3456'7008;

TEST_P(bravo_scan, finds_every_slot_whoever_holds_it_and_however_often) {
  for (std::size_t i = 0; i < 200; ++i) {
    for (const std::uint64_t rest : {std::uint64_t{1}, 7 | std::uint64_t{0xFFFF} << 48}) {
      table_->slot[i] = some_lock | rest;
      for (const std::size_t from : {std::size_t{0}, i / 2, i}) {
        EXPECT_EQ(found(from, 200, some_lock), i) << "from " << from;
      }
      EXPECT_EQ(found(i + 1, 200, some_lock), 200U);
    }
    table_->slot[i] = 0;
  }
}

TEST_P(bravo_scan, passes_over_what_is_another_lock) {
  // Both halves of the word, and each bit of an address.
  table_->slot[3] = (some_lock & 0xFFFF'FFFF) | 0x7777'0000'0001;
  table_->slot[9] = (some_lock & ~std::uint64_t{0xFFFF'FFFF}) | 0x1234'5679;
  for (unsigned bit = 3; bit < 48; ++bit) {
    table_->slot[64 + bit] = (some_lock ^ std::uint64_t{1} << bit) | 1;
  }
  EXPECT_EQ(found(0, 4096, some_lock), 4096U);
}

TEST_P(bravo_scan, finds_what_slot_by_slot_is_found) {
  std::mt19937_64 random(7);  // NOLINT: the same tables every time
  for (int round = 0; round < 300; ++round) {
    const std::array<std::size_t, 6> sizes{8, 16, 32, 64, 512, 4096};
    const std::size_t count = sizes[random() % sizes.size()];
    const std::uint64_t lock = random() & lock_in_slot;
    for (std::size_t i = 0; i < count; ++i) table_->slot[i] = 0;
    for (std::size_t i = random() % 6; i != 0; --i) {
      table_->slot[random() % count] = (random() & ~lock_in_slot) | lock;
      table_->slot[random() % count] = random();
    }
    std::size_t from = 0;
    while (from <= count) {
      const std::size_t expected =
          find_hold(table_->slot.data(), from, count, lock, scan_with::scalar);
      ASSERT_EQ(found(from, count, lock), expected) << "from " << from << " of " << count;
      from = expected + 1;
    }
  }
}

std::string name_of(const testing::TestParamInfo<scan_with>& of) {
  constexpr std::array<const char*, 5> names{"scalar", "sse2", "avx2", "avx512", "neon"};
  return names.at(static_cast<std::size_t>(of.param));
}

std::vector<scan_with> available() {
  std::vector<scan_with> kernels{scan_with::scalar, scan_with::sse2, scan_with::avx2,
                                 scan_with::avx512, scan_with::neon};
  std::erase_if(kernels, [](scan_with kernel) { return !is_available(kernel); });
  return kernels;
}

INSTANTIATE_TEST_SUITE_P(each, bravo_scan, testing::ValuesIn(available()), name_of);

TEST(bravo_scans, the_best_is_available) {
  EXPECT_TRUE(is_available(best_scan()));
}

// --- Readers ------------------------------------------------------------------------------------

TEST(bravo_readers, have_numbers_of_their_own_that_are_reused) {
  std::set<std::uint64_t> numbers;
  constexpr int threads = 100;
  {
    std::vector<std::unique_ptr<helper_thread>> all;
    for (int i = 0; i < threads; ++i) {
      all.push_back(std::make_unique<helper_thread>());
      all.back()->call([&] {
        const auto* const me = introduce_reader();
        if (me != nullptr && me->number != 0) numbers.insert(me->number);
        return 1;
      });
    }
    EXPECT_EQ(numbers.size(), threads);
  }
  helper_thread later;
  EXPECT_EQ(later.call([&] { return numbers.contains(introduce_reader()->number) ? 1 : 0; }), 1);
}

TEST(bravo_readers, are_mixed_well) {
  // A change of one bit of the argument changes half of the result's bits on average.
  std::mt19937_64 random(3);  // NOLINT
  double changed = 0;
  constexpr int trials = 10'000;
  for (int i = 0; i < trials; ++i) {
    const std::uint64_t z = random();
    const std::uint64_t other = z ^ std::uint64_t{1} << random() % 64;
    changed += std::popcount(mix32(z) ^ mix32(other));
  }
  EXPECT_NEAR(changed / trials, 16, 0.5);
}

// --- Slots --------------------------------------------------------------------------------------

struct eager_policy : bravo_policy {
  using bias = readmost::eager_bias;
};
using eager_lock = bravo<std::shared_mutex, eager_policy>;

// Whether another thread finds nobody inside.
bool is_free(eager_lock& lock) {
  helper_thread other;
  return other.call([&] {
    if (!lock.try_lock()) return 0;
    lock.unlock();
    return 1;
  }) == 1;
}

TEST(bravo_slot, keeps_writers_out) {
  eager_lock lock;
  lock.lock_shared();
  lock.unlock_shared();
  lock.lock_shared();
  EXPECT_EQ(known_reader()->holds, 1U);
  EXPECT_FALSE(is_free(lock));
  lock.unlock_shared();
  EXPECT_EQ(known_reader()->holds, 0U);
  EXPECT_TRUE(is_free(lock));
}

// A slot counts up to seven holds; further ones take other slots.
TEST(bravo_slot, counts) {
  eager_lock lock;
  lock.lock_shared();
  lock.unlock_shared();
  constexpr unsigned times = 50;
  for (unsigned i = 0; i < times; ++i) lock.lock_shared();
  EXPECT_EQ(known_reader()->holds, (times + 6) / 7);
  for (unsigned i = 0; i < times; ++i) {
    EXPECT_FALSE(is_free(lock)) << "after " << i << " of " << times << " unlocks";
    lock.unlock_shared();
  }
  EXPECT_TRUE(is_free(lock));
  EXPECT_EQ(known_reader()->holds, 0U);
  EXPECT_EQ(known_reader()->holds_elsewhere, 0U);
}

// --- Tables that grow ---------------------------------------------------------------------------

// The table starts with two slots.
template <int Which>
struct tiny {
  static constinit inline visible_slot slots[8]{};
  static constinit inline slot_array first{slots, 1, nullptr};
  static constinit inline growing_table table{first, 8};

  struct policy : bravo_policy {
    using table = table_that_grows<tiny::table>;
    using bias = readmost::eager_bias;
  };
  static std::uint32_t size() { return table.newest().mask + 1; }
};

TEST(bravo_table, grows_when_readers_often_find_their_slots_taken) {
  using small = tiny<0>;
  std::array<bravo<std::shared_mutex, small::policy>, 40> locks;
  EXPECT_EQ(small::size(), 2U);
  for (int round = 0; round < 3; ++round) {
    for (auto& lock : locks) {
      lock.lock_shared();  // sets the bias
      lock.lock_shared();
    }
    for (auto& lock : locks) {
      lock.unlock_shared();
      lock.unlock_shared();
    }
  }
  EXPECT_EQ(small::size(), 8U) << "no more than it may have";
  for (auto& lock : locks) {
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  }
  EXPECT_EQ(known_reader()->holds, 0U);
}

TEST(bravo_table, holds_in_older_slots_keep_writers_out) {
  using small = tiny<1>;
  bravo<std::shared_mutex, small::policy> lock;
  lock.lock_shared();
  lock.unlock_shared();
  lock.lock_shared();
  small::table.grow_to(4);
  small::table.grow_to(8);
  EXPECT_EQ(small::size(), 8U);
  lock.lock_shared();  // in the newest
  helper_thread other;
  const auto try_lock = [&] {
    if (!lock.try_lock()) return 0;
    lock.unlock();
    return 1;
  };
  EXPECT_EQ(other.call(try_lock), 0);
  lock.unlock_shared();
  EXPECT_EQ(other.call(try_lock), 0);
  lock.unlock_shared();
  EXPECT_EQ(other.call(try_lock), 1);
}

TEST(bravo_table, a_second_slot_serves_where_the_first_is_taken) {
  using small = tiny<2>;
  // There are only two slots, so a second probe finds the free one.
  bravo<std::shared_mutex, small::policy> looks_twice[2];
  for (auto& lock : looks_twice) {
    lock.lock_shared();
    lock.unlock_shared();
  }
  for (auto& lock : looks_twice) lock.lock_shared();
  EXPECT_EQ(known_reader()->holds, 2U);
  EXPECT_EQ(small::size(), 2U);
  for (auto& lock : looks_twice) lock.unlock_shared();
  EXPECT_EQ(known_reader()->holds, 0U);
}

TEST(bravo_table, of_the_process_has_slots_for_its_processors) {
  introduce_reader();
  EXPECT_GE(process_table.newest().mask + 1U,
            256 * std::min(16U, std::bit_ceil(platform::usable_cpus())));
}

}  // namespace
