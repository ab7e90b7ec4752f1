// A lock's preference between waiting readers and writers.
#pragma once

#include <cstdint>

namespace readmost {

// Who goes first when readers and a writer wait. Under each of them a thread that already holds the
// lock for reading may read-lock it again.
enum class preference : std::uint8_t {
  writer,      // a waiting writer keeps new readers out (FCP 4.1); readers pass after 1 ms
  reader,      // readers enter until a writer is inside (glibc's default); writers may starve
  phase_fair,  // in turns: a writer, then all readers that waited, then the next writer
};

}  // namespace readmost
