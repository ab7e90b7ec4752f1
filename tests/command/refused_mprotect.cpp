// Preloaded behind the library: a system in which code may not be written to.
#include <cerrno>
#include <cstddef>

extern "C" __attribute__((visibility("default"))) int mprotect(void*, std::size_t, int) {
  errno = EACCES;
  return -1;
}
