// SPDX-License-Identifier: Apache-2.0
// A thread's first use of the library may be in a signal handler. It must not allocate there:
// whatever the signal has interrupted may be malloc() itself. The program has taken so many
// thread-specific keys that glibc allocates memory for the value of any further one.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <readmost/detail/rcu/grace_period.hpp>
#include <readmost/detail/rcu/read_section.hpp>
#include <thread>

#include "support/helper_thread.hpp"
#include "support/single_step.hpp"
#include "support/sorts.hpp"
#include "threads/registry.hpp"

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
}

namespace {

thread_local bool in_handler = false;
std::atomic<int> allocations_in_handler{0};

void count_allocation() {
  if (in_handler) ++allocations_in_handler;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  count_allocation();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  count_allocation();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  count_allocation();
  return __libc_realloc(memory, size);
}
}

namespace {

using namespace readmost::detail;

// More than a thread has room for without memory of its own.
constexpr int keys_of_program = 40;

__attribute__((constructor)) void take_keys() {
  for (int i = 0; i < keys_of_program; ++i) {
    pthread_key_t key;
    if (pthread_key_create(&key, nullptr) != 0) abort();
  }
}

// What a handler does, in a thread that has not used the library. Returns whether all went well.
struct use {
  const char* name;
  bool (*perform)(rwlock& biased, rwlock& unbiased);
};

bool read(rwlock& lock) {
  return test::lock_shared(lock) == test::acquired && test::unlock_shared(lock);
}

const use uses[] = {
    {"a read section",
     [](rwlock&, rwlock&) {
       enter_section(my_record(), 0);
       const bool inside = is_in_section(0);
       leave_section(my_record(), 0);
       return inside && !is_in_section(0);
     }},
    {"a read lock of a biased lock", [](rwlock& biased, rwlock&) { return read(biased); }},
    {"a read lock of a lock without bias",
     [](rwlock&, rwlock& unbiased) { return read(unbiased); }},
    {"a write lock",
     [](rwlock&, rwlock& unbiased) {
       const bool locked = test::lock(unbiased) == test::acquired;
       test::unlock(unbiased);
       return locked;
     }},
};

std::uint64_t records_in_use() {
  std::uint64_t count = 0;
  for_each_record(default_domain, [&](thread_record&, bool used) { count += used ? 1 : 0; });
  return count;
}

class first_use : public testing::TestWithParam<use> {
 protected:
  first_use() {
    EXPECT_TRUE(test::earn_bias(biased_));
    records_before_ = records_in_use();
  }
  // Nothing may be left behind: no hold, no section, no record.
  ~first_use() override {
    test::expect_free(biased_);
    test::expect_free(unbiased_);
    synchronize(default_domain, urgency::normal);
    EXPECT_EQ(records_in_use(), records_before_);
  }

  rwlock biased_;
  rwlock unbiased_;
  std::uint64_t records_before_ = 0;
};

std::function<void()> handler;

void handle(int) {
  in_handler = true;
  handler();
  in_handler = false;
}

TEST_P(first_use, in_a_signal_handler_allocates_nothing) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = handle;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  bool went_well = false;
  handler = [&] { went_well = GetParam().perform(biased_, unbiased_); };
  allocations_in_handler = 0;
  std::thread([] { pthread_kill(pthread_self(), SIGUSR1); }).join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_TRUE(went_well);
  EXPECT_EQ(allocations_in_handler, 0);
}

// The thread's own first use is interrupted by a handler that uses the library too: at every
// instruction of the registration, and at some of the later ones, because each takes a new thread
// that is stepped from its beginning.
TEST_P(first_use, in_a_handler_amid_the_first_use_of_its_thread) {
  const test::machine_code library = test::code_around(enlist);
  allocations_in_handler = 0;
  for (std::size_t step = 0;; step += step < 130 ? 1 : 61) {
    SCOPED_TRACE(step);
    bool handled_well = true;
    bool went_well = false;
    bool was_interrupted = false;
    std::thread([&] {
      was_interrupted = test::interrupt_at(
          step, library, [&] { went_well = GetParam().perform(biased_, unbiased_); },
          [&] {
            in_handler = true;
            enter_section(my_record(), 0);
            handled_well = read(biased_) && is_in_section(0);
            leave_section(my_record(), 0);
            in_handler = false;
          });
    }).join();
    EXPECT_TRUE(went_well);
    EXPECT_TRUE(handled_well);
    EXPECT_EQ(allocations_in_handler, 0);
    EXPECT_EQ(records_in_use(), records_before_);
    if (!was_interrupted || HasFailure()) return;
    ASSERT_LT(step, 100'000U);
  }
}

INSTANTIATE_TEST_SUITE_P(, first_use, testing::ValuesIn(uses), [](const auto& info) {
  std::string name = info.param.name;
  for (char& c : name) c = c == ' ' ? '_' : c;
  return name;
});

}  // namespace
