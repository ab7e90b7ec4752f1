// SPDX-License-Identifier: Apache-2.0
// Preloaded after the library; ends a program in which memory is to become both writable and
// executable, as where code is written to.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

extern "C" __attribute__((visibility("default"))) int mprotect(void* start, std::size_t length,
                                                               int protection) noexcept {
  if ((protection & PROT_WRITE) != 0 && (protection & PROT_EXEC) != 0) std::abort();
  return static_cast<int>(syscall(SYS_mprotect, start, length, protection));
}
