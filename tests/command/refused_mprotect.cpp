// Preloaded after the library; simulates a system in which code must not become writable.
#include <cerrno>
#include <cstddef>

extern "C" __attribute__((visibility("default"))) int mprotect(void*, std::size_t, int) {
  errno = EACCES;
  return -1;
}
