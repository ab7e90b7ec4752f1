// SPDX-License-Identifier: Apache-2.0
// A lock's preference between waiting readers and writers.
#pragma once

#include <readmost/detail/platform/cpp20.h>

#include <cstdint>

namespace readmost {

// Decides whether waiting readers or a waiting writer enter first. Under each preference, a thread
// that already holds the lock for reading may read-lock it again.
enum class preference : std::uint8_t {
  writer,      // a waiting writer keeps new readers out (FCP 4.1); readers pass after 1 ms
  reader,      // readers enter until a writer is inside (glibc's default); writers may starve
  phase_fair,  // in turns: a writer, then all readers that waited, then the next writer
};

}  // namespace readmost
