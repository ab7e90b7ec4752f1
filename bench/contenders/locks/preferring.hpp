// SPDX-License-Identifier: Apache-2.0
// Our lock under a preference that is not its default.
#pragma once

#include <readmost/shared_mutex.hpp>

namespace bench {

template <readmost::preference prefers>
class preferring : public readmost::shared_mutex {
 public:
  preferring() noexcept : readmost::shared_mutex(prefers) {}
};

}  // namespace bench
