// SPDX-License-Identifier: Apache-2.0
// The symbol by which `readmost top` finds the statistics.
#include "statistics/introspection.hpp"

#include "interpose/layout.hpp"
#include "interpose/settings.hpp"
#include "lock/lock_inspection.hpp"

extern "C" {
__attribute__((visibility("default"), used)) constinit readmost::detail::introspection
    readmost_introspection(READMOST_VERSION, readmost::detail::domains,
                           &readmost::detail::lock_statistics,
                           readmost::detail::interpose::core_offset);
}

namespace readmost::detail::interpose {
namespace {

__attribute__((constructor)) void note_lock() noexcept {
  readmost_introspection.lock.store(current_settings().lock, platform::relaxed);
  readmost_inspection.lock.store(current_settings().lock, platform::relaxed);
}

}  // namespace
}  // namespace readmost::detail::interpose
