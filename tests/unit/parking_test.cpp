// SPDX-License-Identifier: Apache-2.0
#include "lock/parking.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <readmost/shared_mutex.hpp>
#include <thread>
#include <vector>

#include "support/helper_thread.hpp"
#include "support/one_cpu.hpp"

namespace {

namespace parking = readmost::detail::parking;
namespace platform = readmost::detail::platform;

// Restores the choice that suits the machine.
class relay_chosen {
 public:
  explicit relay_chosen(bool on) : before_(parking::relays()) { parking::set_relay(on); }
  ~relay_chosen() { parking::set_relay(before_); }

 private:
  bool before_;
};

const auto long_enough =
    static_cast<std::uint64_t>(std::chrono::nanoseconds(test::generous).count());

// Rounds in which `sleepers` threads go to sleep on a word that is then changed.
void everybody_is_woken(int sleepers) {
  platform::atomic<std::uint32_t> word{0};
  std::atomic<int> slept{0};
  std::atomic<int> woken{0};
  std::atomic<bool> forgotten{false};
  constexpr int rounds = 200;
  std::vector<std::thread> threads;
  for (int i = 0; i < sleepers; ++i) {
    threads.emplace_back([&] {
      for (std::uint32_t round = 0; round < rounds && !forgotten; ++round) {
        ++slept;
        while (word.load() == round && !forgotten) {
          const platform::deadline until = platform::in(long_enough);
          if (parking::sleep_as_reader(platform::futex_of(word), round, &until) ==
              platform::wake_reason::timed_out) {
            forgotten = true;
          }
        }
        ++woken;
        while (woken.load() < sleepers * static_cast<int>(round + 1) && !forgotten) {
          std::this_thread::yield();
        }
      }
    });
  }
  for (int round = 0; round < rounds && !forgotten; ++round) {
    while (slept.load() < sleepers * (round + 1) && !forgotten) std::this_thread::yield();
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    word.store(static_cast<std::uint32_t>(round) + 1);
    parking::wake_readers(platform::futex_of(word));
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(forgotten) << "a sleeper was not woken in " << long_enough << " ns";
}

TEST(parking, a_broadcast_wakes_everybody) {
  const relay_chosen off(false);
  everybody_is_woken(20);
}

TEST(parking, a_relay_wakes_everybody) {
  const relay_chosen on(true);
  everybody_is_woken(3);
  everybody_is_woken(30);
}

// A reader that wakes others although nobody has woken it would wake them for nothing.
TEST(parking, a_relay_is_not_begun_by_a_reader_that_did_not_sleep) {
  const relay_chosen on(true);
  const test::one_cpu same_bucket;
  const platform::atomic<std::uint32_t> word{0};
  const platform::futex_word at = platform::futex_of(word);
  test::helper_thread sleeper;
  sleeper.begin([&] { return static_cast<int>(parking::sleep_as_reader(at, 0, nullptr)); });
  ASSERT_TRUE(sleeper.falls_asleep());
  EXPECT_EQ(parking::sleep_as_reader(at, 1, nullptr), platform::wake_reason::none);
  EXPECT_TRUE(sleeper.falls_asleep()) << "it sleeps as before";
  EXPECT_EQ(parking::wake_readers(at), 1);
  EXPECT_EQ(sleeper.end(), static_cast<int>(platform::wake_reason::woken));
}

TEST(parking, a_relay_is_chosen_by_the_number_of_processors) {
  EXPECT_EQ(parking::relays(), platform::usable_cpus() >= parking::cpus_that_pay);
}

TEST(parking, readers_that_wait_for_a_writer_are_relayed) {
  const relay_chosen on(true);
  readmost::shared_mutex mutex(readmost::preference::reader);
  for (int round = 0; round < 20; ++round) {
    mutex.lock();
    std::vector<std::thread> readers;
    for (int i = 0; i < 24; ++i) {
      readers.emplace_back([&] {
        mutex.lock_shared();
        mutex.unlock_shared();
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    mutex.unlock();
    for (auto& reader : readers) reader.join();
  }
}

}  // namespace
