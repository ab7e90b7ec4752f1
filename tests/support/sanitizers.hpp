// SPDX-License-Identifier: Apache-2.0
// The sanitizers with which the tests are built, by either compiler.
#pragma once

#if defined(__has_feature)
#define READMOST_HAS_FEATURE(name) __has_feature(name)
#else
#define READMOST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || READMOST_HAS_FEATURE(address_sanitizer)
#define UNDER_ADDRESS_SANITIZER 1
#else
#define UNDER_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || READMOST_HAS_FEATURE(thread_sanitizer)
#define UNDER_THREAD_SANITIZER 1
#else
#define UNDER_THREAD_SANITIZER 0
#endif

// ThreadSanitizer ends a child of several threads that starts one.
#if UNDER_THREAD_SANITIZER
#define SKIP_WHERE_CHILDREN_START_NO_THREADS() GTEST_SKIP() << "ThreadSanitizer forbids it"
#else
#define SKIP_WHERE_CHILDREN_START_NO_THREADS()
#endif
