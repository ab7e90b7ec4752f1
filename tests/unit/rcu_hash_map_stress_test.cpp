// SPDX-License-Identifier: Apache-2.0
// The hash map resized up and down without a pause, under readers that know what they must find and
// writers that know what they have written. Chains are long and mixed, so that it takes many steps
// to unzip them.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <readmost/rcu_hash_map.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

using readmost::rcu_barrier;
using readmost::rcu_hash_map;

constexpr int staying = 64;    // keys from 0: always there
constexpr int changing = 400;  // keys above, for each writer: come and go
constexpr int writer_count = 2;
constexpr int absent_from = 1'000;  // keys from here on are never there
constexpr std::size_t few_buckets = 16, many_buckets = 64;

// On a busy machine readers that are not running keep grace periods waiting.
constexpr std::chrono::seconds longest{30};

// Knows its key, and whether it is alive.
struct content {
  explicit content(int of) : key(of), complement(~of) {}
  content(const content&) = default;
  content& operator=(const content&) = default;
  ~content() { key = complement = 0; }
  bool is_of(int wanted) const { return key == wanted && complement == ~wanted; }

  int key, complement;
  int changes = 0;
};

struct spread {
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key); }
};
// So few that each has a long chain even in the largest table.
struct crowd {
  std::size_t operator()(int key) const { return static_cast<std::size_t>(key % 16); }
};

class lots {
 public:
  explicit lots(std::uint32_t seed) : state_(seed) {}
  int below(int end) {
    state_ = state_ * 1664525 + 1013904223;
    return static_cast<int>((state_ >> 8) % static_cast<std::uint32_t>(end));
  }

 private:
  std::uint32_t state_;
};

template <class Hash>
class rcu_hash_map_under_stress : public testing::Test {
 protected:
  using map_type = rcu_hash_map<int, content, Hash>;

  rcu_hash_map_under_stress() {
    for (int key = 0; key < staying; ++key) map.try_emplace(key, key);
  }

  static constexpr int own_key(int writer, int i) { return staying + writer * changing + i; }

  void look_up(int seed) {
    lots random(static_cast<std::uint32_t>(seed));
    for (; !stop.load(std::memory_order_relaxed); ++lookups) {
      const int there = random.below(staying);
      bool right = false;
      map.visit(there, [&](const content& found) { right = found.is_of(there); });
      if (!right) ++missed;
      if (map.contains(absent_from + random.below(1'000))) ++invented;
      const int perhaps = staying + random.below(writer_count * changing);
      map.visit(perhaps, [&](const content& found) {
        if (!found.is_of(perhaps)) ++invented;
      });
    }
  }

  void iterate() {
    while (!stop.load(std::memory_order_relaxed)) {
      std::array<int, absent_from> met{};
      map.for_each([&](const auto& each) {
        if (!each.second.is_of(each.first)) ++invented;
        ++met[static_cast<std::size_t>(each.first)];
      });
      for (int key = 0; key < absent_from; ++key) {
        const int times = met[static_cast<std::size_t>(key)];
        if (times > 1) ++met_twice;
        if (key < staying && times == 0) ++missed;
      }
    }
  }

  // Its own keys come and go; those that stay are replaced.
  void write(int number) {
    lots random(static_cast<std::uint32_t>(number + 100));
    std::array<bool, changing> mine{};
    while (!stop.load(std::memory_order_relaxed)) {
      const int i = random.below(changing);
      const int key = own_key(number, i);
      bool& is_there = mine[static_cast<std::size_t>(i)];
      bool right = map.contains(key) == is_there;
      switch (random.below(5)) {
        case 0:
          right = right && map.try_emplace(key, key) == !is_there;
          is_there = true;
          break;
        case 1:
          right = right && map.erase(key) == is_there;
          is_there = false;
          break;
        case 2:
          right = right && map.insert_or_assign(key, content(key)) == !is_there;
          is_there = true;
          break;
        case 3: {
          const int other = random.below(staying);
          right = right && !map.insert_or_assign(other, content(other));
          break;
        }
        default: {
          const int other = random.below(staying);
          right = right && map.update(other, [](content& copy) { ++copy.changes; });
        }
      }
      if (!right || map.contains(key) != is_there) ++wrong_writes;
    }
    for (bool is_there : mine) left_by_writers += is_there ? 1 : 0;
  }

  void resize() {
    for (int i = 0; !stop.load(std::memory_order_relaxed); ++i) {
      map.rehash(i % 2 == 0 ? many_buckets : few_buckets);
      ++resizes;
    }
  }

  void run(std::chrono::milliseconds time) {
    map.max_load_factor(1'000);  // rehash() alone decides
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back([this, i] { look_up(i + 1); });
    threads.emplace_back([this] { iterate(); });
    for (int i = 0; i < writer_count; ++i) threads.emplace_back([this, i] { write(i); });
    threads.emplace_back([this] { resize(); });
    const auto start = std::chrono::steady_clock::now();
    const auto is_over = [&] {
      const auto passed = std::chrono::steady_clock::now() - start;
      return missed != 0 || passed > longest || (passed > time && resizes >= 4);
    };
    while (!is_over()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    stop = true;
    for (std::thread& each : threads) each.join();
  }

  map_type map;
  std::atomic<bool> stop{false};
  std::atomic<int> missed{0}, invented{0}, met_twice{0}, wrong_writes{0}, left_by_writers{0};
  std::atomic<int> resizes{0};
  std::atomic<std::int64_t> lookups{0};
};

using hashes = testing::Types<spread, crowd>;
TYPED_TEST_SUITE(rcu_hash_map_under_stress, hashes);

TYPED_TEST(rcu_hash_map_under_stress, every_lookup_iteration_and_write_is_right) {
  this->run(std::chrono::milliseconds(1'500));
  EXPECT_EQ(this->missed, 0);
  EXPECT_EQ(this->invented, 0);
  EXPECT_EQ(this->met_twice, 0);
  EXPECT_EQ(this->wrong_writes, 0);
  EXPECT_GT(this->lookups, 0);
  EXPECT_GE(this->resizes, 4);
  EXPECT_EQ(this->map.size(), static_cast<std::size_t>(staying + this->left_by_writers));
  this->map.clear();
  EXPECT_TRUE(this->map.empty());
  rcu_barrier();
  this->RecordProperty("lookups", std::to_string(this->lookups));
  this->RecordProperty("resizes", std::to_string(this->resizes));
}

}  // namespace
