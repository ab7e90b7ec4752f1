// SPDX-License-Identifier: Apache-2.0
// Included in include/readmost/hazard_pointer.hpp.
#pragma once

#include <readmost/detail/platform/platform.hpp>

namespace readmost::detail {

// hazard_after_validation
template <class Hazard, class T>
T* load_and_protect(Hazard& hazard, T* pointer, const platform::atomic<T*>& source) noexcept {
  T* const found = source.load(platform::acquire);
  hazard.reset_protection(pointer);
  return found;
}

}  // namespace readmost::detail
