// SPDX-License-Identifier: Apache-2.0
// Records that belong to threads which are not simulated.
#pragma once

#include "threads/registry.hpp"

namespace readmost::model {

inline index_block& first_block() {
  return *default_domain.index.load();
}

inline chunk& first_chunk() {
  return *first_block().entries[0].records.load();
}

// Has the records of the first chunk belong to threads that are not simulated.
inline void take_first_chunk() {
  first_chunk().used.store(~std::uint64_t{0});
}

inline void give_first_chunk_back() {
  first_chunk().used.store(0);
}

}  // namespace readmost::model
