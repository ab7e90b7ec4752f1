// SPDX-License-Identifier: Apache-2.0
// Locks made by bravo, over each kind of lock and with each policy: who may be inside, how often,
// and who waits for whom.
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <readmost/bravo.hpp>
#include <readmost/shared_mutex.hpp>
#include <readmost/shared_timed_mutex.hpp>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/helper_thread.hpp"
#include "support/processes.hpp"

namespace {

using namespace readmost::detail;
using readmost::bravo;
using readmost::bravo_consensus_policy;
using readmost::bravo_paper_policy;
using readmost::bravo_policy;
using std::chrono::hours;
using std::chrono::milliseconds;
using test::helper_thread;
using test::wait_until;

// Sets the bias at the first opportunity, so that tests need few reads.
template <class Policy>
struct eager : Policy {
  using bias = readmost::eager_bias;
};
struct queue_policy : bravo_policy {
  static constexpr bool writers_queue = true;
};
struct consensus_queue_policy : bravo_consensus_policy {
  static constexpr bool writers_queue = true;
};
struct one_probe_policy : bravo_policy {
  static constexpr bool second_probe = false;
};
struct scattered_policy : bravo_policy {
  static constexpr bool spreads_threads = false;
};
struct scalar_policy : bravo_policy {
  static constexpr bool vector_scan = false;
};
struct large_table_policy : bravo_policy {
  using table = shared_table_of_4096;
};
struct private_policy : bravo_policy {
  using table = private_table<64>;
};

// --- Each lock, each policy ---------------------------------------------------------------------

// Each kind of lock behind virtual functions, so that the tests are compiled once and not once for
// each.
class any_lock {
 public:
  virtual ~any_lock() = default;
  virtual void lock() = 0;
  virtual void unlock() = 0;
  virtual bool try_lock() = 0;
  virtual void lock_shared() = 0;
  virtual void unlock_shared() = 0;
  virtual bool try_lock_shared() = 0;
  virtual bool is_biased() const = 0;
  virtual void expect_that_guards_take_it() = 0;
  // For locks with deadlines.
  virtual bool try_lock_for(std::chrono::nanoseconds) { std::abort(); }
  virtual bool try_lock_shared_for(std::chrono::nanoseconds) { std::abort(); }
  virtual bool try_lock_until(std::chrono::system_clock::time_point) { std::abort(); }
  virtual bool try_lock_shared_until(std::chrono::steady_clock::time_point) { std::abort(); }

  // Complete sections; the result is what a helper_thread returns.
  int write() {
    lock();
    unlock();
    return 1;
  }
  int read() {
    lock_shared();
    unlock_shared();
    return 1;
  }
  int write_if(bool granted) {
    if (granted) unlock();
    return granted ? 1 : 0;
  }
  int read_if(bool granted) {
    if (granted) unlock_shared();
    return granted ? 1 : 0;
  }
  int try_to_write() { return write_if(try_lock()); }
  int try_to_read() { return read_if(try_lock_shared()); }
};

template <class Lock>
class lock_of : public any_lock {
 public:
  void lock() override { lock_.lock(); }
  void unlock() override { lock_.unlock(); }
  bool try_lock() override { return lock_.try_lock(); }
  void lock_shared() override { lock_.lock_shared(); }
  void unlock_shared() override { lock_.unlock_shared(); }
  bool try_lock_shared() override { return lock_.try_lock_shared(); }
  bool is_biased() const override { return lock_.is_biased(); }
  void expect_that_guards_take_it() override {
    {
      const std::shared_lock reading(lock_);
      EXPECT_TRUE(reading.owns_lock());
    }
    {
      const std::unique_lock writing(lock_, std::try_to_lock);
      EXPECT_TRUE(writing.owns_lock());
    }
    const std::scoped_lock both(lock_);
  }

 protected:
  Lock lock_;
};

template <class Lock>
class timed_lock_of : public lock_of<Lock> {
  using lock_of<Lock>::lock_;

 public:
  bool try_lock_for(std::chrono::nanoseconds time) override { return lock_.try_lock_for(time); }
  bool try_lock_shared_for(std::chrono::nanoseconds time) override {
    return lock_.try_lock_shared_for(time);
  }
  bool try_lock_until(std::chrono::system_clock::time_point end) override {
    return lock_.try_lock_until(end);
  }
  bool try_lock_shared_until(std::chrono::steady_clock::time_point end) override {
    return lock_.try_lock_shared_until(end);
  }
};

struct kind_of_lock {
  const char* name;
  std::unique_ptr<any_lock> (*make)();
};
template <class Kind>
std::unique_ptr<any_lock> make() {
  return std::make_unique<Kind>();
}
template <class Underlying, class Policy>
constexpr auto make_eager = make<lock_of<bravo<Underlying, eager<Policy>>>>;
template <class Underlying, class Policy>
constexpr auto make_eager_timed = make<timed_lock_of<bravo<Underlying, eager<Policy>>>>;

class bravo_lock : public testing::TestWithParam<kind_of_lock> {
 protected:
  // Afterwards this thread enters through a slot.
  static void make_biased(any_lock& lock) {
    lock.read();
    ASSERT_TRUE(lock.is_biased());
  }
  // Nobody is inside.
  static void expect_free(any_lock& lock) {
    helper_thread other;
    EXPECT_EQ(other.call([&] { return lock.try_to_write(); }), 1);
  }

  std::unique_ptr<any_lock> owner_ = GetParam().make();
  any_lock& lock = *owner_;
};

std::string name_of(const testing::TestParamInfo<kind_of_lock>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(
    over, bravo_lock,
    testing::ValuesIn(std::to_array<kind_of_lock>({
        {"shared_mutex", make_eager<std::shared_mutex, bravo_policy>},
        {"shared_mutex_with_the_papers_policy", make_eager<std::shared_mutex, bravo_paper_policy>},
        {"shared_mutex_with_consensus", make_eager<std::shared_mutex, bravo_consensus_policy>},
        {"shared_mutex_with_a_queue", make_eager<std::shared_mutex, queue_policy>},
        {"shared_mutex_with_consensus_and_a_queue",
         make_eager<std::shared_mutex, consensus_queue_policy>},
        {"shared_mutex_with_one_probe", make_eager<std::shared_mutex, one_probe_policy>},
        {"shared_mutex_with_scattered_threads", make_eager<std::shared_mutex, scattered_policy>},
        {"shared_mutex_with_a_scalar_scan", make_eager<std::shared_mutex, scalar_policy>},
        {"shared_mutex_with_a_large_table", make_eager<std::shared_mutex, large_table_policy>},
        {"shared_mutex_with_a_private_table", make_eager<std::shared_mutex, private_policy>},
        {"mutex", make_eager<std::mutex, bravo_policy>},
        {"mutex_with_consensus", make_eager<std::mutex, bravo_consensus_policy>},
        {"mutex_with_a_queue", make_eager<std::mutex, queue_policy>},
        {"shared_timed_mutex", make_eager<std::shared_timed_mutex, bravo_policy>},
        {"readmost_shared_mutex", make_eager<readmost::shared_mutex, bravo_policy>},
        {"readmost_shared_mutex_with_consensus",
         make_eager<readmost::shared_mutex, bravo_consensus_policy>},
    })),
    name_of);

TEST_P(bravo_lock, readers_share_it) {
  make_biased(lock);
  lock.lock_shared();
  helper_thread other;
  EXPECT_EQ(other.call([&] { return lock.read(); }), 1);
  lock.unlock_shared();
  expect_free(lock);
}

TEST_P(bravo_lock, a_writer_waits_for_the_last_reader) {
  make_biased(lock);
  lock.lock_shared();
  std::atomic<bool> inside{false};
  helper_thread writer;
  writer.begin([&] {
    lock.lock();
    inside = true;
    lock.unlock();
  });
  EXPECT_TRUE(wait_until([&] { return !lock.is_biased(); }));
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(inside);
  lock.unlock_shared();
  EXPECT_EQ(writer.end(), 0);
  EXPECT_TRUE(inside);
  expect_free(lock);
}

TEST_P(bravo_lock, a_reader_waits_for_the_writer) {
  make_biased(lock);
  lock.lock();
  EXPECT_FALSE(lock.is_biased());
  std::atomic<bool> inside{false};
  helper_thread reader;
  reader.begin([&] {
    lock.lock_shared();
    inside = true;
    lock.unlock_shared();
  });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(inside);
  lock.unlock();
  EXPECT_EQ(reader.end(), 0);
  expect_free(lock);
}

TEST_P(bravo_lock, a_reader_locks_again_while_a_writer_waits_for_it) {
  make_biased(lock);
  lock.lock_shared();
  helper_thread writer;
  writer.begin([&] { return lock.write(); });
  EXPECT_TRUE(wait_until([&] { return !lock.is_biased(); }));
  // More holds than one slot can count.
  constexpr int times = 20;
  for (int i = 0; i < times; ++i) lock.lock_shared();
  for (int i = 0; i < times; ++i) lock.unlock_shared();
  EXPECT_TRUE(writer.in_call());
  lock.unlock_shared();
  EXPECT_EQ(writer.end(), 1);
  expect_free(lock);
}

TEST_P(bravo_lock, holds_count) {
  constexpr int times = 40;
  for (int i = 0; i < times; ++i) lock.lock_shared();
  helper_thread other;
  const auto try_lock = [&] { return lock.try_to_write(); };
  for (int i = 0; i < times; ++i) {
    EXPECT_EQ(other.call(try_lock), 0) << "after " << i << " unlocks";
    lock.unlock_shared();
  }
  EXPECT_EQ(other.call(try_lock), 1);
}

TEST_P(bravo_lock, many_are_held_and_released_in_any_order) {
  constexpr std::size_t count = 24;
  std::array<std::unique_ptr<any_lock>, count> locks;
  for (auto& one : locks) make_biased(*(one = GetParam().make()));
  std::vector<std::size_t> held;
  std::mt19937 random(1);  // NOLINT: the same order every time
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t times = 0; times <= i % 3; ++times) {
      locks[i]->lock_shared();
      held.push_back(i);
    }
  }
  std::shuffle(held.begin(), held.end(), random);
  std::array<unsigned, count> left{};
  for (const std::size_t i : held) ++left[i];
  helper_thread other;
  for (const std::size_t i : held) {
    any_lock& one = *locks[i];
    EXPECT_EQ(other.call([&] { return one.try_lock() ? 1 : 0; }), 0) << "lock " << i;
    one.unlock_shared();
    --left[i];
    if (left[i] != 0) continue;
    EXPECT_EQ(other.call([&] { return one.try_to_write(); }), 1) << "lock " << i;
  }
  EXPECT_TRUE(known_reader() == nullptr || known_reader()->holds == 0);
}

TEST_P(bravo_lock, trying_does_not_wait) {
  helper_thread other;
  const auto try_lock = [&] { return lock.try_to_write(); };
  const auto try_lock_shared = [&] { return lock.try_to_read(); };
  make_biased(lock);
  lock.lock_shared();
  EXPECT_EQ(other.call(try_lock), 0);
  EXPECT_TRUE(lock.is_biased());
  EXPECT_EQ(other.call(try_lock_shared), 1);
  lock.unlock_shared();
  EXPECT_EQ(other.call(try_lock), 1);
  lock.lock();
  EXPECT_EQ(other.call(try_lock), 0);
  EXPECT_EQ(other.call(try_lock_shared), 0);
  lock.unlock();
  EXPECT_EQ(other.call(try_lock_shared), 1);
}

TEST_P(bravo_lock, the_guards_of_the_standard_library_take_it) {
  lock.expect_that_guards_take_it();
}

TEST_P(bravo_lock, threads_come_and_go) {
  make_biased(lock);
  for (int i = 0; i < 100; ++i) {
    std::thread([&] {
      lock.lock_shared();
      lock.lock_shared();
      lock.unlock_shared();
      lock.unlock_shared();
    }).join();
    if (i % 10 == 0) {
      lock.lock();
      lock.unlock();
    }
  }
  expect_free(lock);
}

// What a lock protects: a writer leaves both alike.
struct twins {
  any_lock& lock;
  std::uint64_t one = 0;
  std::uint64_t other = 0;

  void write() {
    ++one;
    ++other;
  }
  bool are_alike() const {
    return *static_cast<const volatile std::uint64_t*>(&one) ==
           *static_cast<const volatile std::uint64_t*>(&other);
  }
};

void visit(twins& shared, std::minstd_rand& random, std::uint64_t& writes, bool& alike) {
  const auto draw = random() % 100;
  if (draw < 2) {
    shared.lock.lock();
    shared.write();
    ++writes;
    shared.lock.unlock();
  } else if (draw < 4) {
    if (!shared.lock.try_lock()) return;
    shared.write();
    ++writes;
    shared.lock.unlock();
  } else if (draw < 10) {
    if (!shared.lock.try_lock_shared()) return;
    alike = alike && shared.are_alike();
    shared.lock.unlock_shared();
  } else {
    shared.lock.lock_shared();
    alike = alike && shared.are_alike();
    shared.lock.unlock_shared();
  }
}

void expect_exclusion(any_lock& lock) {
  constexpr unsigned threads = 4;
  twins shared{lock};
  std::atomic<bool> alike{true};
  std::atomic<std::uint64_t> writes{0};
  std::atomic<bool> stop{false};
  {
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        std::minstd_rand random(i + 1);
        std::uint64_t own_writes = 0;
        bool own_alike = true;
        while (!stop.load(std::memory_order_relaxed)) {
          visit(shared, random, own_writes, own_alike);
        }
        writes += own_writes;
        if (!own_alike) alike = false;
      });
    }
    std::this_thread::sleep_for(milliseconds(150));
    stop = true;
  }
  EXPECT_TRUE(alike) << "a reader was inside with a writer";
  EXPECT_EQ(shared.one, writes) << "two writers were inside at once";
  EXPECT_EQ(shared.other, writes);
}

TEST_P(bravo_lock, readers_and_writers_are_never_inside_at_once) {
  expect_exclusion(lock);
}

template <class Lock>
void expect_exclusion() {
  expect_exclusion(*make<lock_of<Lock>>());
}

// With the policy's own bias, which comes and goes.
TEST(bravo_policies, exclude_writers) {
  expect_exclusion<bravo<std::shared_mutex>>();
  expect_exclusion<bravo<std::mutex>>();
  expect_exclusion<bravo<readmost::shared_mutex>>();
  expect_exclusion<bravo<std::shared_mutex, bravo_paper_policy>>();
  expect_exclusion<bravo<std::shared_mutex, bravo_consensus_policy>>();
  expect_exclusion<bravo<std::mutex, bravo_consensus_policy>>();
}

// --- Deadlines ----------------------------------------------------------------------------------

class bravo_timed_lock : public bravo_lock {};

INSTANTIATE_TEST_SUITE_P(over, bravo_timed_lock,
                         testing::ValuesIn(std::to_array<kind_of_lock>({
#if !defined(READMOST_THREAD_SANITIZER)  // which does not know pthread_mutex_clocklock()
                             {"timed_mutex", make_eager_timed<std::timed_mutex, bravo_policy>},
#endif
                             {"shared_timed_mutex",
                              make_eager_timed<std::shared_timed_mutex, bravo_policy>},
                             {"shared_timed_mutex_with_a_queue",
                              make_eager_timed<std::shared_timed_mutex, queue_policy>},
                             {"shared_timed_mutex_with_consensus",
                              make_eager_timed<std::shared_timed_mutex, bravo_consensus_policy>},
                             {"readmost_shared_timed_mutex",
                              make_eager_timed<readmost::shared_timed_mutex, bravo_policy>},
                         })),
                         name_of);

TEST_P(bravo_timed_lock, a_writer_gives_up_and_leaves_the_bias) {
  make_biased(lock);
  lock.lock_shared();
  helper_thread writer;
  EXPECT_EQ(writer.call([&] {
    const auto begin = std::chrono::steady_clock::now();
    if (lock.try_lock_for(milliseconds(20))) return 0;
    return std::chrono::steady_clock::now() - begin >= milliseconds(20) ? 1 : 2;
  }),
            1);
  EXPECT_TRUE(lock.is_biased());
  lock.unlock_shared();
  EXPECT_EQ(writer.call([&] {
    return lock.write_if(lock.try_lock_until(std::chrono::system_clock::now() + hours(1)));
  }),
            1);
}

TEST_P(bravo_timed_lock, a_writer_that_waits_gets_it) {
  make_biased(lock);
  lock.lock_shared();
  helper_thread writer;
  writer.begin([&] { return lock.write_if(lock.try_lock_for(hours(1))); });
  EXPECT_TRUE(wait_until([&] { return !lock.is_biased(); }));
  lock.unlock_shared();
  EXPECT_EQ(writer.end(), 1);
}

TEST_P(bravo_timed_lock, a_reader_gives_up) {
  lock.lock();
  helper_thread reader;
  EXPECT_EQ(reader.call([&] { return lock.try_lock_shared_for(milliseconds(20)) ? 1 : 0; }), 0);
  // Waiting writers queue inside this call.
  EXPECT_EQ(reader.call([&] { return lock.try_lock_for(milliseconds(20)) ? 1 : 0; }), 0);
  lock.unlock();
  EXPECT_EQ(reader.call([&] {
    return lock.read_if(lock.try_lock_shared_until(std::chrono::steady_clock::now() + hours(1)));
  }),
            1);
  expect_free(lock);
}

// --- What only some promise ---------------------------------------------------------------------

TEST(bravo_over_a_mutex, its_reader_locks_again_without_a_bias) {
  struct never : bravo_policy {
    using bias = readmost::drawn_bias<~0U>;
  };
  lock_of<bravo<std::mutex, never>> lock;
  helper_thread reader;
  helper_thread other;
  EXPECT_EQ(reader.call([&] {
    lock.lock_shared();
    lock.lock_shared();
    const bool again = lock.try_lock_shared();
    if (again) lock.unlock_shared();
    lock.unlock_shared();
    return again ? 1 : 0;
  }),
            1);
  EXPECT_FALSE(lock.is_biased());
  EXPECT_EQ(other.call([&] { return lock.try_lock_shared() ? 1 : 0; }), 0);
  EXPECT_EQ(reader.call([&] { lock.unlock_shared(); }), 0);
  EXPECT_EQ(other.call([&] { return lock.try_to_write(); }), 1);
}

TEST(bravo_with_a_writers_queue, readers_enter_while_a_writer_revokes) {
  lock_of<bravo<std::shared_mutex, eager<queue_policy>>> lock;
  lock.read();
  lock.lock_shared();
  helper_thread writer;
  writer.begin([&] { return lock.write(); });
  ASSERT_TRUE(wait_until([&] { return !lock.is_biased(); }));
  helper_thread reader;
  EXPECT_EQ(reader.call([&] { return lock.read(); }), 1);
  EXPECT_TRUE(writer.in_call());
  lock.unlock_shared();
  EXPECT_EQ(writer.end(), 1);
}

TEST(bravo_underlying, is_at_hand) {
  bravo<readmost::shared_mutex> lock(readmost::preference::phase_fair);
  EXPECT_TRUE(lock.underlying().try_lock());
  EXPECT_FALSE(lock.try_lock_shared());
  lock.underlying().unlock();
}

TEST(bravo_size, is_that_of_the_lock_and_sixteen_bytes) {
  EXPECT_EQ(sizeof(bravo<std::shared_mutex>), sizeof(std::shared_mutex) + 16);
  EXPECT_EQ(sizeof(bravo<std::shared_mutex, bravo_consensus_policy>),
            sizeof(std::shared_mutex) + 16);
  EXPECT_EQ(sizeof(bravo<std::shared_mutex, bravo_paper_policy>), sizeof(std::shared_mutex) + 16);
  EXPECT_EQ(sizeof(bravo<std::mutex>), sizeof(std::mutex) + 24);
  static constinit bravo<std::mutex> made_at_compile_time;
  made_at_compile_time.lock();
  made_at_compile_time.unlock();
}

// --- Around threads -----------------------------------------------------------------------------

class bravo_thread : public bravo_lock {};

INSTANTIATE_TEST_SUITE_P(over, bravo_thread,
                         testing::ValuesIn(std::to_array<kind_of_lock>({
                             {"shared_mutex", make_eager<std::shared_mutex, bravo_policy>},
                             {"shared_mutex_with_consensus",
                              make_eager<std::shared_mutex, bravo_consensus_policy>},
                         })),
                         name_of);

#if !defined(READMOST_THREAD_SANITIZER)  // which has given the thread up by then

// A destructor of thread-specific data that runs in every round, also after the library's own.
struct late_user {
  static void use(void* user) {
    auto* const me = static_cast<late_user*>(user);
    me->lock.lock_shared();
    ++me->times;
    me->lock.unlock_shared();
    pthread_setspecific(me->key, me);
  }
  any_lock& lock;
  pthread_key_t key{};
  int times = 0;
};

TEST_P(bravo_thread, that_has_almost_exited_reads_as_well) {
  late_user user{lock};
  ASSERT_EQ(pthread_key_create(&user.key, late_user::use), 0);
  std::thread([&] {
    make_biased(lock);
    late_user::use(&user);
  }).join();
  EXPECT_GT(user.times, 2);
  expect_free(lock);
  pthread_key_delete(user.key);
}

#endif

TEST_P(bravo_thread, that_is_no_more_after_a_fork_holds_nothing) {
  helper_thread reader;
  ASSERT_EQ(reader.call([&] {
    make_biased(lock);
    lock.lock_shared();
  }),
            0);
  lock.lock_shared();
  const test::child_process child([&] {
    EXPECT_FALSE(lock.try_lock());  // the forking thread's own hold
    lock.unlock_shared();
    EXPECT_TRUE(lock.try_lock());
    lock.unlock();
  });
  lock.unlock_shared();
  EXPECT_FALSE(lock.try_lock());
  reader.call([&] { lock.unlock_shared(); });
  expect_free(lock);
}

// What a signal handler reads, and how often it or the reader saw a write in progress.
twins* interrupted = nullptr;
std::atomic<std::uint64_t> torn{0};

void read_in_handler(int) {
  const int before = errno;
  if (interrupted->lock.try_lock_shared()) {
    if (!interrupted->are_alike()) ++torn;
    interrupted->lock.unlock_shared();
  }
  errno = before;
}

TEST_P(bravo_thread, is_interrupted_by_a_handler_that_reads_too) {
  twins shared{lock};
  interrupted = &shared;
  torn = 0;
  struct sigaction handles{};
  handles.sa_handler = read_in_handler;
  handles.sa_flags = SA_RESTART;
  struct sigaction before{};
  ASSERT_EQ(sigaction(SIGUSR1, &handles, &before), 0);
  std::atomic<bool> stop{false};
  {
    std::jthread reader([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        shared.lock.lock_shared();
        if (!shared.are_alike()) ++torn;
        shared.lock.unlock_shared();
      }
    });
    const std::jthread writer([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        if (shared.lock.try_lock()) {
          shared.write();
          shared.lock.unlock();
        }
        std::this_thread::yield();
      }
    });
    const auto end = std::chrono::steady_clock::now() + milliseconds(200);
    while (std::chrono::steady_clock::now() < end) {
      pthread_kill(reader.native_handle(), SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    stop = true;
  }
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(torn, 0U);
  expect_free(lock);
}

}  // namespace
