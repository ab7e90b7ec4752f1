// The symbol by which `readmost top` finds the library's statistics.
#include "../introspection.hpp"

#include "core_offset.hpp"
#include "settings.hpp"

extern "C" {
__attribute__((visibility("default"), used)) constinit readmost::introspection
    readmost_introspection(READMOST_VERSION, readmost::domains, &readmost::lock_statistics,
                           readmost::interpose::core_offset);
}

namespace readmost::interpose {
namespace {

__attribute__((constructor)) void note_lock() noexcept {
  readmost_introspection.lock.store(current_settings().lock, platform::relaxed);
}

}  // namespace
}  // namespace readmost::interpose
