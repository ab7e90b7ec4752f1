// SPDX-License-Identifier: Apache-2.0
// Every name and every symbol version that a program may call reaches the same lock.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "configuration.hpp"
#include "locks.hpp"
#include "old_generation.hpp"

namespace {

using contract::holding;
using contract::seen_elsewhere;

// The file name of the object that contains a function.
std::string origin(const void* function) {
  Dl_info info{};
  if (function == nullptr || dladdr(function, &info) == 0) return "nowhere";
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash != nullptr ? slash + 1 : info.dli_fname;
}

const std::vector<std::string> public_names{
    "pthread_rwlock_init",        "pthread_rwlock_destroy",     "pthread_rwlock_rdlock",
    "pthread_rwlock_tryrdlock",   "pthread_rwlock_timedrdlock", "pthread_rwlock_clockrdlock",
    "pthread_rwlock_wrlock",      "pthread_rwlock_trywrlock",   "pthread_rwlock_timedwrlock",
    "pthread_rwlock_clockwrlock", "pthread_rwlock_unlock"};

const std::vector<std::string> internal_names{
    "__pthread_rwlock_init",   "__pthread_rwlock_destroy",   "__pthread_rwlock_rdlock",
    "__pthread_rwlock_wrlock", "__pthread_rwlock_tryrdlock", "__pthread_rwlock_trywrlock",
    "__pthread_rwlock_unlock"};

#define EXPECT_ORIGIN(function) EXPECT_EQ(origin(function), contract::provider())

TEST(symbols, dlsym_finds_every_public_name_in_the_expected_library) {
  for (const auto& name : public_names) {
    SCOPED_TRACE(name);
    EXPECT_ORIGIN(dlsym(RTLD_DEFAULT, name.c_str()));
    EXPECT_ORIGIN(dlsym(RTLD_NEXT, name.c_str()));
  }
}

// glibc exports these for old binaries only, so dlsym does not find them in glibc.
TEST(symbols, dlsym_finds_the_internal_names_under_the_library_only) {
  for (const auto& name : internal_names) {
    SCOPED_TRACE(name);
    void* function = dlsym(RTLD_DEFAULT, name.c_str());
    if (contract::interposed()) {
      EXPECT_ORIGIN(function);
    } else {
      EXPECT_EQ(function, nullptr);
    }
  }
}

TEST(symbols, a_program_calls_the_expected_library) {
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_init));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_destroy));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_rdlock));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_tryrdlock));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_timedrdlock));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_clockrdlock));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_wrlock));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_trywrlock));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_timedwrlock));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_clockwrlock));
  EXPECT_ORIGIN(reinterpret_cast<void*>(&pthread_rwlock_unlock));
}

TEST(symbols, an_old_binary_calls_the_expected_library_by_every_name) {
  const auto functions = contract::old_generation_functions();
  EXPECT_EQ(functions.size(), public_names.size() + internal_names.size());
  for (const auto& function : functions) {
    SCOPED_TRACE(function.name);
    EXPECT_ORIGIN(function.address);
  }
}

using simple_call = int (*)(pthread_rwlock_t*);

// A lock taken through functions of one generation is released through those of the other.
void expect_one_lock(simple_call rdlock, simple_call wrlock, simple_call unlock) {
  contract::rwlock lock;
  for (const bool hot : {false, true}) {
    if (hot) contract::make_hot(lock);
    ASSERT_EQ(rdlock(lock), 0);
    EXPECT_EQ(pthread_rwlock_trywrlock(lock), EBUSY);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    ASSERT_EQ(pthread_rwlock_rdlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::read);
    ASSERT_EQ(unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
    ASSERT_EQ(wrlock(lock), 0);
    EXPECT_EQ(pthread_rwlock_tryrdlock(lock), EBUSY);
    EXPECT_EQ(pthread_rwlock_wrlock(lock), EDEADLK);
    ASSERT_EQ(pthread_rwlock_unlock(lock), 0);
    ASSERT_EQ(pthread_rwlock_wrlock(lock), 0);
    ASSERT_EQ(unlock(lock), 0);
    EXPECT_EQ(seen_elsewhere(lock), holding::free);
  }
}

TEST(symbols, old_and_new_binaries_share_a_lock) {
  using namespace contract;
  expect_one_lock(old_rdlock, old_wrlock, old_unlock);
  expect_one_lock(old_internal_rdlock, old_internal_wrlock, old_internal_unlock);
  expect_one_lock(old_tryrdlock, old_trywrlock, old_unlock);
  expect_one_lock(old_internal_tryrdlock, old_internal_trywrlock, old_internal_unlock);
}

TEST(symbols, callers_by_dlsym_and_callers_by_name_share_a_lock) {
  std::vector<std::string> prefixes{"pthread_rwlock_"};
  if (contract::interposed()) prefixes.push_back("__pthread_rwlock_");
  for (const auto& prefix : prefixes) {
    const auto function = [&](const char* name) {
      return reinterpret_cast<simple_call>(dlsym(RTLD_DEFAULT, (prefix + name).c_str()));
    };
    ASSERT_NE(function("rdlock"), nullptr);
    expect_one_lock(function("rdlock"), function("wrlock"), function("unlock"));
    expect_one_lock(function("tryrdlock"), function("trywrlock"), function("unlock"));
  }
}

// Interposition does not reach calls that name glibc explicitly: they get glibc's functions.

TEST(symbols, dlvsym_and_a_handle_of_libc_get_glibcs_functions) {
  EXPECT_EQ(origin(dlvsym(RTLD_DEFAULT, "pthread_rwlock_rdlock", OLDEST_GLIBC)), "libc.so.6");
  EXPECT_EQ(origin(dlvsym(RTLD_DEFAULT, "pthread_rwlock_rdlock", "GLIBC_2.34")), "libc.so.6");
  void* libc = dlopen("libc.so.6", RTLD_LAZY);
  ASSERT_NE(libc, nullptr);
  EXPECT_EQ(origin(dlsym(libc, "pthread_rwlock_rdlock")), "libc.so.6");
  dlclose(libc);
}

}  // namespace
